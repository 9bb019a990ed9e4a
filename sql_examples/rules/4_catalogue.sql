-- A catalogue of thirty detection rules over a log of four computers on one day: the matches by rule and level, and the
-- techniques of MITRE ATT&CK that the rules cover. The log is made here: what users do every day, and some attacks.

CREATE OR REPLACE TEMPORARY VIEW lines AS
-- Every day: 300 events, drawn by a hash.
SELECT
  element_at(array('pc-1', 'pc-2', 'web-1', 'db-1'), pmod(hash(n, 'host'), 4) + 1) AS host,
  TIMESTAMP'2026-03-02 08:00:00' + make_dt_interval(0, 0, 0, 110 * n) AS time,
  element_at(
    array('authentication login', 'process start', 'process end', 'file create', 'network connect'),
    pmod(hash(n, 'what'), 5) + 1) AS what,
  replace(
    'outcome=success, user=user#, from=10.1.0.#, name=program#, entity=daily-#, path=/home/notes#, to=10.2.0.#',
    '#', pmod(hash(n, 'who'), 9)) AS fields
FROM range(300) AS r(n)
UNION ALL
-- Attacks, step by step.
SELECT host, CAST('2026-03-02 ' || at AS TIMESTAMP), what, fields
FROM VALUES
  ('pc-1', '09:00:30', 'authentication login', 'outcome=success, user=ann, from=10.1.0.7'),
  ('pc-1', '09:03:00', 'authentication login', 'outcome=success, user=ann, from=198.51.100.9'),
  ('pc-1', '09:06:00', 'iam password-changed', 'user=ann'),
  ('pc-1', '09:10:00', 'file create', r'user=ann, path=C:\Users\ann\Start Menu\Programs\Startup\go.lnk'),

  ('pc-2', '10:00:00', 'process start', 'user=bob, name=winword.exe, entity=doc'),
  ('pc-2', '10:01:00', 'process start', 'user=bob, name=cmd.exe, entity=doc-2, parent=winword.exe, of=doc'),
  ('pc-2', '10:01:05', 'process start',
    'user=bob, name=powershell.exe, entity=doc-3, parent=cmd.exe, of=doc-2, args=-NoProfile|-EncodedCommand|SQBFAFgA'),
  ('pc-2', '10:02:00', 'process start', 'user=bob, name=certutil.exe, entity=doc-4, parent=powershell.exe, of=doc-3'),
  ('pc-2', '10:02:01', 'network connect', 'entity=doc-4, to=203.0.113.80, port=443, domain=files.example'),
  ('pc-2', '10:02:03', 'file create', r'entity=doc-4, name=certutil.exe, path=C:\Users\bob\Downloads\a.exe, ext=exe'),
  ('pc-2', '10:02:10', 'process start', r'user=bob, name=a.exe, exe=C:\Users\bob\Downloads\a.exe, entity=doc-5'),
  ('pc-2', '10:03:30', 'file delete', r'entity=doc-3, path=C:\Users\bob\Downloads\a.exe, ext=exe'),
  ('pc-2', '10:20:00', 'process start', 'user=bob, name=7z.exe, entity=doc-6'),
  ('pc-2', '10:25:00', 'network connect', 'entity=doc-5, to=203.0.113.80, port=443, bytes=90000000'),
  ('pc-2', '10:27:00', 'network connect', 'entity=doc-5, to=203.0.113.80, port=443, bytes=70000000'),

  ('pc-2', '13:00:00', 'process start', 'user=bob, name=vssadmin.exe, args=delete|shadows|/all'),
  ('pc-2', '13:00:20', 'process start', 'user=bob, name=bcdedit.exe, args=/set|recoveryenabled|no'),
  ('pc-2', '13:00:40', 'process start', 'user=bob, name=wbadmin.exe, args=delete|catalog'),

  ('db-1', '02:10:00', 'iam user-created', 'user=helper'),
  ('db-1', '02:12:00', 'iam group-member-added', 'user=helper'),
  ('db-1', '02:15:00', 'authentication login', 'outcome=success, user=helper, from=10.1.0.66'),
  ('db-1', '02:15:02', 'process start', 'user=helper, name=bash, args=-c|unset HISTFILE'),
  ('db-1', '02:40:00', 'iam user-deleted', 'user=helper'),
  ('db-1', '11:00:00', 'authentication login', 'outcome=success, user=svc_backup, from=198.51.100.9'),
  ('db-1', '11:30:00', 'process end', 'user=root, name=auditd'),

  ('web-1', '12:00:00', 'process end', 'user=root, name=auditd'),
  ('web-1', '12:00:04', 'process start', 'user=root, name=auditd'),
  ('web-1', '14:00:00', 'process start', 'user=www, name=sh, entity=shell, parent=nginx'),
  ('web-1', '14:00:05', 'network connect', 'entity=shell, to=198.51.100.9, port=4444')
  AS t(host, at, what, fields)
UNION ALL
-- Attacks that repeat a step.
SELECT
  host, CAST('2026-03-02 ' || at AS TIMESTAMP) + make_dt_interval(0, 0, 0, n * seconds), what, replace(fields, '#', n)
FROM VALUES
  ('web-1', '09:00:00', 12, 5, 'authentication login', 'outcome=failure, user=admin, from=203.0.113.5'),
  ('web-1', '09:01:10', 1, 0, 'authentication login', 'outcome=success, user=admin, from=203.0.113.5'),
  ('web-1', '15:00:00', 8, 20, 'authentication login', 'outcome=failure, user=name#, from=203.0.113.6'),
  ('db-1', '09:00:00', 6, 1200, 'authentication login', 'outcome=failure, user=root, from=10.1.0.66'),
  ('web-1', '14:05:00', 20, 2, 'network connect', 'entity=shell, to=10.1.0.9, port=80#'),
  ('web-1', '14:10:00', 8, 10, 'network connect', 'entity=shell, to=10.1.0.1#, port=22'),
  ('pc-2', '11:00:00', 15, 60, 'network connect', 'entity=doc-5, name=a.exe, to=203.0.113.80, port=443, bytes=300'),
  ('pc-2', '13:01:00', 12, 2, 'file create', r'entity=doc-5, name=a.exe, path=C:\Data\plan#.xls.locked, ext=locked'),
  ('pc-2', '13:01:01', 12, 2, 'file delete', r'entity=doc-5, name=a.exe, path=C:\Data\plan#.xls, ext=xls')
  AS t(host, at, times, seconds, what, fields)
LATERAL VIEW explode(sequence(1, times)) AS n;

CREATE OR REPLACE TEMPORARY VIEW log AS
SELECT
  hex(xxhash64(host, time, what, fields)) AS id,
  time,
  named_struct(
    'category', split_part(what, ' ', 1), 'action', split_part(what, ' ', 2), 'outcome', f['outcome']) AS event,
  named_struct('name', host) AS host,
  named_struct('name', f['user']) AS user,
  named_struct('name', f['name'], 'executable', f['exe'], 'args', split(f['args'], '[|]'), 'entity_id', f['entity'],
    'parent', named_struct('name', f['parent'], 'entity_id', f['of'])) AS process,
  named_struct('path', f['path'], 'extension', f['ext']) AS file,
  named_struct('ip', f['from']) AS source,
  named_struct('ip', f['to'], 'port', CAST(f['port'] AS INT), 'domain', f['domain']) AS destination,
  CAST(f['bytes'] AS BIGINT) AS bytes
FROM (SELECT *, str_to_map(fields, ', ', '=') AS f FROM lines);

CREATE OR REPLACE TEMPORARY VIEW alerts AS
SELECT rule, name AS host, start_time, end_time, measures
FROM pattern_rules(
  TABLE(log) PARTITION BY host.name ORDER BY (time, id),
  rules => 'sql_examples/rules/catalogue',
  event_type => event.category);

-- Matches by level and rule
SELECT level, rule, count(host) AS matches, array_join(array_sort(collect_set(host)), ' ') AS hosts
FROM pattern_rules_catalogue('sql_examples/rules/catalogue') LEFT JOIN alerts USING (rule)
GROUP BY level, rule
ORDER BY array_position(array('critical', 'high', 'medium', 'low'), level), rule;

-- Result:
-- | level | rule | matches | hosts |
-- | --- | --- | --- | --- |
-- | critical | files_renamed_alike | 0 |  |
-- | critical | files_replaced | 1 | pc-2 |
-- | critical | lsass_dumped | 0 |  |
-- | critical | office_grandchild | 1 | pc-2 |
-- | critical | recovery_switched_off | 1 | pc-2 |
-- | critical | web_server_shell | 1 | web-1 |
-- | high | agent_stopped | 1 | db-1 |
-- | high | archive_then_upload | 1 | pc-2 |
-- | high | machines_swept | 1 | web-1 |
-- | high | new_address_then_change | 1 | pc-1 |
-- | high | new_admin_logs_in | 1 | db-1 |
-- | high | office_starts_shell | 1 | pc-2 |
-- | high | password_guessed | 1 | web-1 |
-- | high | password_spraying | 1 | web-1 |
-- | high | run_and_erased | 1 | pc-2 |
-- | high | service_account_from_outside | 1 | db-1 |
-- | high | short_lived_account | 1 | db-1 |
-- | high | startup_after_remote_login | 1 | pc-1 |
-- | high | tool_fetches_program | 1 | pc-2 |
-- | medium | deleted_while_logged_in | 1 | db-1 |
-- | medium | encoded_command | 1 | pc-2 |
-- | medium | history_off_at_once | 1 | db-1 |
-- | medium | names_carry_data | 0 |  |
-- | medium | port_scan | 1 | web-1 |
-- | medium | regular_beacon | 1 | pc-2 |
-- | medium | slow_guessing | 1 | db-1 |
-- | medium | sudo_guessed | 0 |  |
-- | medium | two_places_at_once | 1 | pc-1 |
-- | low | account_made_at_night | 1 | db-1 |
-- | low | downloaded_program_runs | 1 | pc-2 |

-- Coverage: the rules for each technique, how many of them matched, and the matches
WITH techniques AS (
  SELECT DISTINCT rule, upper(split_part(tag, '.', 2)) AS technique
  FROM pattern_rules_catalogue('sql_examples/rules/catalogue') LATERAL VIEW explode(tags) AS tag
  WHERE tag LIKE 'attack.t1%'
)
SELECT technique, count(DISTINCT rule) AS rules, count(DISTINCT alerts.rule) AS matched, count(host) AS matches
FROM techniques LEFT JOIN alerts USING (rule)
GROUP BY technique
ORDER BY technique;

-- Result:
-- | technique | rules | matched | matches |
-- | --- | --- | --- | --- |
-- | T1003 | 1 | 0 | 0 |
-- | T1018 | 1 | 1 | 1 |
-- | T1021 | 1 | 1 | 1 |
-- | T1027 | 1 | 1 | 1 |
-- | T1041 | 1 | 1 | 1 |
-- | T1046 | 1 | 1 | 1 |
-- | T1048 | 1 | 0 | 0 |
-- | T1053 | 1 | 1 | 1 |
-- | T1059 | 3 | 3 | 3 |
-- | T1070 | 3 | 3 | 3 |
-- | T1071 | 2 | 1 | 1 |
-- | T1078 | 3 | 3 | 3 |
-- | T1098 | 2 | 2 | 2 |
-- | T1105 | 1 | 1 | 1 |
-- | T1110 | 3 | 3 | 3 |
-- | T1136 | 3 | 3 | 3 |
-- | T1204 | 3 | 3 | 3 |
-- | T1485 | 1 | 1 | 1 |
-- | T1486 | 2 | 1 | 1 |
-- | T1490 | 1 | 1 | 1 |
-- | T1505 | 1 | 1 | 1 |
-- | T1531 | 1 | 1 | 1 |
-- | T1547 | 1 | 1 | 1 |
-- | T1548 | 1 | 0 | 0 |
-- | T1560 | 1 | 1 | 1 |
-- | T1562 | 1 | 1 | 1 |
