{#- A model as a pattern table: made by the first run, and brought up to date by the others. -#}
{% materialization pattern_table, adapter='spark' %}
  {%- set target = this.incorporate(type='table') -%}
  {{ run_hooks(pre_hooks) }}
  {% call statement('main') -%}
    CREATE OR {{ 'REPLACE' if should_full_refresh() else 'REFRESH' }} PATTERN TABLE {{ target.include(database=false) }}
    {%- if model.description %} COMMENT '{{ model.description | replace("\\", "\\\\") | replace("'", "\\'") }}'{% endif %} AS
    {{ compiled_code }}
  {%- endcall %}
  {{ run_hooks(post_hooks) }}
  {{ return({'relations': [target]}) }}
{% endmaterialization %}
