-- Logins over SSH: nine patterns of attacks, by the address that they come from. The log is 2,000 lines of OpenSSH of
-- loghub's samples (https://github.com/logpai/loghub), as the view `loghub_2k_samples`.

CREATE OR REPLACE TEMPORARY VIEW ssh_logins AS
SELECT
  regexp_extract(content, '([0-9]+[.][0-9]+[.][0-9]+[.][0-9]+)', 1) AS address,
  element_at(split(regexp_extract(content, '(\\S+) from', 0), ' '), 1) AS user,
  pos, ts,
  CASE
    WHEN activity IN ('E9', 'E10', 'E14') THEN 'failed'
    WHEN activity = 'E13' THEN 'unknown'
    WHEN activity = 'E1' THEN 'accepted'
    WHEN activity = 'E27' THEN 'warned'
    WHEN activity IN ('E4', 'E5', 'E7', 'E18') THEN 'cut'
    ELSE 'other'
  END AS action
FROM loghub_2k_samples WHERE system = 'OpenSSH';

SELECT rule, count(DISTINCT address) AS addresses, count(*) AS matches
FROM pattern_rules(
  TABLE(SELECT * FROM ssh_logins WHERE address <> '') PARTITION BY address ORDER BY (ts, pos),
  rules => 'sql_examples/rules/access',
  event_type => action)
GROUP BY rule
ORDER BY rule;

-- Result:
-- | rule | addresses | matches |
-- | --- | --- | --- |
-- | break_in_warning | 4 | 85 |
-- | brute_force | 5 | 21 |
-- | cut_off_and_back | 1 | 44 |
-- | many_unknown_users | 5 | 6 |
-- | name_by_name | 6 | 36 |
-- | patient | 5 | 6 |
-- | root_is_tried | 5 | 32 |
-- | warned_again | 2 | 4 |
