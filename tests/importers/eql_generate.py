"""Random ECS-like events and random EQL rules for testing an importer against `eql_oracle`.

    random_events(random, n) -> n documents in order of time (a `random.Random` is given, so that runs repeat)
    random_rules(random, n)  -> n EQL texts, of which many match in such events

Values are drawn from small pools so that rules do match. Times are whole milliseconds (Elasticsearch's resolution).
"""

from datetime import UTC, datetime, timedelta

HOSTS = ["web-01", "DB-02", "lap-03"]
USERS = ["root", "alice", "Bob"]
ENTITIES = ["e1", "e2", "e3", "e4"]
NAMES = ["cmd.exe", "CMD.EXE", "powershell.exe", "regsvr32.exe", "bash", "svchost.exe", "Explorer.EXE"]
FOLDERS = ["C:\\Windows\\System32\\", "C:\\Users\\alice\\AppData\\", "/usr/bin/", "C:\\Program Files\\Ünal\\"]
ARGUMENTS = ["-enc", "/c", "whoami", "--User=Root", "a*b", "10.0.0.5", "C:\\Temp\\x.ps1", 'say "hi"']
ADDRESSES = ["10.0.0.5", "10.1.2.3", "192.168.7.9", "8.8.8.8", "2001:db8::1", "fe80::1", "2001:db8:ffff::2"]
BLOCKS = ["10.0.0.0/8", "10.0.0.0/24", "192.168.0.0/16", "2001:db8::/32", "fe80::/10", "8.8.8.8/32", "172.16.0.0/12"]
REGISTRY = ["HKLM\\Software\\Run\\upd", "HKCU\\Software\\Run\\Upd", "HKLM\\System\\Services\\x"]
DOMAINS = ["example.com", "cdn.example.org", "Evil.test"]
TYPES = {
    "process": ["start", "end"],
    "file": ["creation", "change", "deletion"],
    "network": ["start", "connection"],
    "registry": ["change", "deletion"],
}
CATEGORIES = list(TYPES)


# ---------------------------------------------------------------- events


def random_events(random, n, category_lists=False):
    """n events whose times rise, with ties now and then; with `category_lists`, some event.category are lists."""
    when, events = datetime(2024, 5, 1, 12, 0, 0, tzinfo=UTC), []
    for _ in range(n):
        when += timedelta(milliseconds=random.choice([0, 1, 50, 500, 1000, 1000, 2000, 2500, 5000, 5000, 10000, 30000]))
        events.append(random_event(random, when, category_lists))
    return events


def random_event(random, when, category_lists=False):
    """One event; about one leaf in twelve is null, and as many are absent."""
    category, name, folder = random.choice(CATEGORIES), random.choice(NAMES), random.choice(FOLDERS)
    arguments = random.sample(ARGUMENTS, random.randrange(4))
    event = {
        "event": {
            "category": category,
            "type": random.choice(TYPES[category]),
            "code": random.choice(["4624", "4647"]),
            "risk": random.choice([1, 2.5, 7, 10]),
        },
        "host": {"name": random.choice(HOSTS)},
        "user": {"name": random.choice(USERS), "id": random.choice([0, 1000, 1001])},
        "process": {
            "name": name,
            "pid": random.choice([4, 100, 101, 2000]),
            "entity_id": random.choice(ENTITIES),
            "executable": folder + name,
            "args": arguments,
            "args_count": len(arguments),
            "command_line": " ".join([name, *arguments]),
            "exit_code": random.choice(["0", "1", "0xc5", "x"]),
            "parent": {"name": random.choice(NAMES), "entity_id": random.choice(ENTITIES)},
            "code_signature": {"trusted": random.choice([True, False])},
        },
        "labels": {"risk-level": random.choice(["low", "high"]), "6 pack": random.choice([6, 12])},
    }
    if category == "file":
        event["file"] = {
            "name": name,
            "path": folder + name,
            "extension": name.partition(".")[2] or None,
            "size": random.choice([0, 1, 512, 4096, 1000000]),
        }
    if category == "network":
        event["source"] = {"ip": random.choice(ADDRESSES), "port": random.choice([443, 50000, 50001])}
        event["destination"] = {
            "ip": random.choice(ADDRESSES),
            "port": random.choice([22, 80, 443]),
            "domain": random.choice(DOMAINS),
        }
        event["network"] = {"protocol": random.choice(["http", "dns", "SSH"]), "bytes": random.choice([10, 999, 65536])}
    if category == "registry":
        event["registry"] = {"path": random.choice(REGISTRY), "data": {"strings": random.sample(ARGUMENTS, 2)}}
    thin_out(random, event)
    event["event"]["category"] = category
    if random.random() < 0.03:
        event["event"]["category"] = None
    elif category_lists and random.random() < 0.1:
        event["event"]["category"] = [category, random.choice(CATEGORIES)]
    return {"@timestamp": when, **event}


def thin_out(random, document):
    """Make some leaves null and take some away."""
    for key in list(document):
        if isinstance(document[key], dict):
            thin_out(random, document[key])
        elif (chance := random.random()) < 0.16:
            document[key] = None
            if chance < 0.08:
                del document[key]


# ---------------------------------------------------------------- words of rules


def quote(random, text, raw=0.3):
    """A string as EQL, sometimes raw."""
    if random.random() < raw and '"' not in text:
        return f'"""{text}"""'
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("Ü", random.choice(["Ü", "\\u{dc}", "\\u{000000DC}"])) + '"'


def recase(random, text):
    """The text in another case, now and then."""
    return random.choice([text, text, text.upper(), text.lower(), text.title()])


def wild(random, text):
    """The text as a wildcard pattern which fits it."""
    cut, other = sorted(random.randrange(len(text) + 1) for _ in range(2))
    return random.choice(
        [
            text[:cut] + "*",
            "*" + text[cut:],
            text[:cut] + "*" + text[other:],
            text,
            text[:cut] + "?" + text[cut + 1 :] if cut < len(text) else text + "*",
        ]
    )


def regex(random, text):
    """A Lucene regular expression which fits the text, or nearly."""

    def escaped(part):
        return "".join("\\" + char if char in '.?+*|{}[]()"\\#@&<>~' else char for char in part)

    cut = random.randrange(1, len(text) + 1)
    return random.choice(
        [
            escaped(text[:cut]) + ".*",
            ".+" + escaped(text[cut:]),
            "(" + escaped(text) + "|other)",
            escaped(text[:cut]) + ".{0,6}",
            escaped(text[: cut - 1]) + "[^0-9]" + escaped(text[cut:]),
            escaped(text[:cut]) + "?" + ".*",
            escaped(text),
        ]
    )


def field(random, path, optional=0.15):
    """A field as EQL: sometimes optional, in backquotes where they are needed and sometimes where not."""
    parts = [
        f"`{part}`" if "-" in part or part[0].isdigit() or random.random() < 0.03 else part for part in path.split(".")
    ]
    return ("?" if random.random() < optional else "") + ".".join(parts)


STRINGS = {  # fields with strings, for each category ("any": in all)
    "any": {
        "process.name": NAMES,
        "user.name": USERS,
        "host.name": HOSTS,
        "process.parent.name": NAMES,
        "process.args": ARGUMENTS,
        "labels.risk-level": ["low", "high"],
        "event.code": ["4624", "4647"],
        "process.executable": [folder + name for folder in FOLDERS for name in NAMES[:3]],
        "process.command_line": [name + " " + argument for name in NAMES[:4] for argument in ARGUMENTS[:4]],
    },
    "process": {"process.exit_code": ["0", "1", "x"]},
    "file": {
        "file.path": [folder + name for folder in FOLDERS for name in NAMES],
        "file.name": NAMES,
        "file.extension": ["exe", "EXE"],
    },
    "network": {"destination.domain": DOMAINS, "network.protocol": ["http", "dns", "SSH"]},
    "registry": {"registry.path": REGISTRY, "registry.data.strings": ARGUMENTS},
}
NUMBERS = {
    "any": {
        "process.pid": [4, 100, 101, 2000],
        "process.args_count": [0, 1, 2, 3],
        "event.risk": [1, 2.5, 7, 10],
        "user.id": [0, 1000, 1001],
        "labels.6 pack": [6, 12],
    },
    "process": {},
    "file": {"file.size": [0, 1, 512, 4096]},
    "registry": {},
    "network": {"destination.port": [22, 80, 443], "network.bytes": [10, 999, 65536]},
}


def choose(random, table, category):
    """A field of the category (or of all) and one of its values."""
    fields = {**table["any"], **table.get(category, {})}
    own = table.get(category) if category != "any" else None
    path = random.choice(list(own if own and random.random() < 0.5 else fields))
    return path, random.choice(fields[path])


# ---------------------------------------------------------------- conditions


def simple(random, category):
    """A condition which a good part of the category's events meets, for the steps of sequences."""
    types = TYPES.get(category, ["start", "change"])
    name = random.choice(NAMES)
    return random.choice(
        [
            "true",
            f'event.type == "{random.choice(types)}"',
            f'event.type in ("{types[0]}", "{random.choice(types)}")',
            f'event.type != "{random.choice(types)}"',
            f"process.name : {quote(random, name)}",
            f"process.name like~ ({quote(random, name)}, {quote(random, wild(random, random.choice(NAMES)))})",
            f"process.pid {random.choice(['<', '<=', '>', '>='])} {random.choice([100, 101])}",
            f'not user.name == "{random.choice(USERS)}"',
            'endsWith~(process.name, ".exe")',
        ]
    )


def condition(random, category, depth=2):
    """A random condition."""
    if depth and random.random() < 0.45:
        left, right = condition(random, category, depth - 1), condition(random, category, depth - 1)
        sign = random.choice(["and", "or", "or", "and not"])
        return random.choice([f"{left} {sign} {right}", f"({left}) {sign} ({right})", f"not ({left} {sign} {right})"])
    if random.random() < 0.08:
        return random.choice(
            [
                "true",
                "not false",
                "process.code_signature.trusted",
                "process.code_signature.trusted == false",
                "not process.code_signature.trusted",
            ]
        )
    makers = [equality, pattern, listed, numeric, existence, boolean_function, valued_function]
    made = random.choice(makers)(random, category)
    return f"not {made}" if random.random() < 0.1 else made


def equality(random, category):
    path, value = choose(random, STRINGS, category)
    sign = random.choice(["==", "==", "!=", ":", "<", ">=", "<=", ">"])
    if random.random() < 0.1 and sign in ("==", "!="):
        return f"{quote(random, value)} {sign} {field(random, path)}"
    return f"{field(random, path)} {sign} {quote(random, recase(random, value) if sign == ':' else value)}"


def pattern(random, category):
    path, value = choose(random, STRINGS, category)
    sign = random.choice([":", "like", "like~", "regex", "regex~"])
    make, texts = (regex if sign.startswith("regex") else wild), []
    for known in [value, *random.sample(STRINGS["any"]["process.name"], random.randrange(3))]:
        text = make(random, known)
        texts.append(quote(random, recase(random, text) if sign in (":", "like~", "regex~") else text))
    right = texts[0] if len(texts) == 1 and random.random() < 0.7 else "(" + ", ".join(texts) + ")"
    return f"{field(random, path)} {sign} {right}"


def listed(random, category):
    sign = random.choice(["in", "not in", "in~", "not in~"])
    if random.random() < 0.3:
        path, value = choose(random, NUMBERS, category)
        return f"{field(random, path)} {sign.rstrip('~')} ({value}, {random.choice([7, 443, 512])})"
    path, value = choose(random, STRINGS, category)
    values = [value, *random.sample(NAMES + USERS, random.randrange(3))]
    values = [quote(random, recase(random, text) if sign.endswith("~") else text) for text in values]
    return f"{field(random, path)} {sign} ({', '.join(values)})"


def numeric(random, category):
    path, value = choose(random, NUMBERS, category)
    sign, name = random.choice(["==", "!=", "<", "<=", ">", ">="]), field(random, path)
    left = random.choice(
        [
            name,
            name,
            f"{name} + 1",
            f"{name} - 3",
            f"{name} * 2",
            f"add({name}, 1)",
            f"subtract({name}, 0.5)",
            f"multiply({name}, 3)",
            f"2 * ({name} + 1) - 1",
            f"-{name}",
        ]
    )
    decimal = f"{value}.0" if isinstance(value, int) else value
    right = random.choice([value, value, decimal, f"{value} + 1", f"{value} * 2"])
    return f"{right} {sign} {left}" if random.random() < 0.1 else f"{left} {sign} {right}"


def existence(random, category):
    path, _ = choose(random, random.choice([STRINGS, NUMBERS]), category)
    sides = [field(random, path, 0.4), "null"]
    if random.random() < 0.1:
        sides.reverse()
    return f"{sides[0]} {random.choice(['==', '!='])} {sides[1]}"


def boolean_function(random, category):
    if random.random() < (0.5 if category in ("network", "any") else 0.1):
        path = random.choice(["source.ip", "destination.ip"])
        return f"cidrMatch({field(random, path)}, {', '.join(quote(random, b) for b in random.sample(BLOCKS, 2))})"
    path, value = choose(random, STRINGS, category)
    tilde, cut = random.choice(["", "~"]), random.randrange(len(value))
    name = random.choice(["startsWith", "endsWith", "stringContains"])
    part = {"startsWith": value[: cut + 1], "endsWith": value[cut:], "stringContains": value[cut : cut + 4]}[name]
    part = recase(random, part) if tilde else part
    return f"{name}{tilde}({field(random, path)}, {quote(random, part)})" + random.choice(["", "", " == true"])


def valued_function(random, category):
    path, value = choose(random, STRINGS, category)
    name, cut = field(random, path), random.randrange(1, len(value) + 1)
    return random.choice(
        [
            f"length({name}) {random.choice(['<', '>', '=='])} {len(value)}",
            f"substring({name}, {random.choice([0, 1, -4])}) == {quote(random, value[-4:])}",
            f"substring({name}, 0, {cut}) == {quote(random, value[:cut])}",
            f'concat({name}, ":", {field(random, "process.pid")}) == {quote(random, value + ":100")}',
            f'concat("<", {name}, ">", 2.5, true) : {quote(random, "<" + value + ">*")}',
            f'string({field(random, "process.pid")}) : "{random.choice(["10?", "4", "*0*"])}"',
        ]
    )


# ---------------------------------------------------------------- rules


def random_rules(random, n):
    """n EQL texts: event queries, and (three in five) sequences."""
    return [commented(random, sequence_rule(random) if random.random() < 0.6 else event_rule(random)) for _ in range(n)]


def commented(random, text):
    """The text with comments and line ends here and there, where a word border is sure."""
    if random.random() < 0.2:
        text = text.replace(" where ", random.choice([' where /* why: "this" */ ', "\nwhere // it's [so]\n  "]), 1)
    return text


def category(random):
    """A category as EQL, and its name."""
    name = random.choice([*CATEGORIES, "any"])
    return (f'"{name}"' if name != "any" and random.random() < 0.05 else name), name


def event_rule(random):
    written, name = category(random)
    return f"{written} where {condition(random, name)}"


def sequence_rule(random):
    """A sequence: keys of one of several shapes, mostly two or three steps, and the clauses with some chance each."""
    count = random.choice([2, 2, 2, 3, 3])
    shared, own = random.choice(
        [
            ([], []),
            ([], []),
            ([], []),
            (["host.name"], []),
            (["host.name"], []),
            (["host.name", "user.name"], []),
            (["?user.name"], []),
            (["user.name"], []),
            (["process.entity_id"], []),
            (["host.name", "?process.pid"], []),
            ([], ["user.name"]),
            ([], ["process.entity_id|process.parent.entity_id"]),
            (["host.name"], ["process.name|process.parent.name"]),
            (["host.name"], ["process.executable|?process.executable"]),
        ]
    )
    missing = random.choice(range(count + 1)) if random.random() < 0.25 else None
    span = random.choice(["500ms", "5s", "10s", "30s", "1m", "5m", "1h"])
    has_span = missing is not None or random.random() < 0.5
    same = simple_step(random, random.choice(CATEGORIES)) if random.random() < 0.2 else None  # overlapping steps
    items = []
    for number in range(count + 1):
        if number == missing:
            items.append("!" + simple_step(random, random.choice(CATEGORIES)) + by(random, own, number))
        if number < count:
            step = same if same and random.random() < 0.8 else simple_step(random, category(random)[1])
            runs = f" with runs={random.choice([1, 2, 2, 3])}" if random.random() < 0.15 else ""
            items.append(step + by(random, own, number) + runs)
    if missing is not None and random.random() < 0.25:  # only the missing event and one neighbour
        items = items[-2:] if missing == count else items[missing : missing + 2]
    head = "sequence" + (" by " + ", ".join(shared) if shared else "") + (f" with maxspan={span}" if has_span else "")
    text = head + "".join("\n  " + item for item in items)
    if random.random() < 0.25:
        text += "\nuntil " + simple_step(random, random.choice(CATEGORIES), 1) + by(random, own, 0)
    return text


def by(random, own, number):
    """The step's own keys; a|b means that the first step uses a and later ones use either."""
    keys = [random.choice(key.split("|")) if number else key.split("|")[0] for key in own]
    return " by " + ", ".join(keys) if keys else ""


def simple_step(random, name, narrow=0):
    """`[category where condition]`, mostly with a condition that many events meet."""
    made = simple(random, name)
    if narrow or random.random() < 0.3:
        made += " and " + simple(random, name)
    elif random.random() < 0.2:
        made = condition(random, name, 1)
    return f"[{name} where {made}]"
