// The widget of sparkcep.explore(): what is clicked goes to Python as `request`, what Python says comes as `answer`.
const KINDS = ["once", "one or more", "none"];
const UNITS = { seconds: 1, minutes: 60, hours: 3600, days: 86400 };

function element(tag, given = {}, ...children) {
  const made = Object.assign(document.createElement(tag), given);
  made.append(...children);
  return made;
}

function some(count, one, more) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : more}`;
}

function render({ model, el }) {
  const summary = model.get("summary");
  let steps = [], within = "", number = 0, waiting = false;
  // The largest unit of which the longest case has two.
  let unit = Object.keys(UNITS).findLast((u) => summary.longest >= 2 * UNITS[u]) ?? "seconds";
  const root = element("div", { className: "sparkcep" });
  el.append(root);
  // The copy for exported notebooks, which stands behind it.
  document.head.append(element("style", { textContent: ".sparkcep.snapshot { display: none }" }));

  const types = element("div", { className: "types" });
  const most = Math.max(1, ...summary.types.map((t) => t.events));
  for (const type of summary.types) {
    const bar = element("i");
    bar.style.width = `${(100 * type.events) / most}%`;
    types.append(element("button", {
      className: "type", title: `${some(type.events, "event", "events")} in ${some(type.cases, "case", "cases")}: add it to the pattern`,
      onclick: () => { steps.push({ type: type.name, kind: "once" }); ask(false); },
    }, bar, element("span", { textContent: type.name }), element("em", { textContent: type.events.toLocaleString("en") })));
  }
  const search = element("input", { type: "search", className: "search", placeholder: "find a type", ariaLabel: "find a type",
    hidden: summary.types.length < 12, oninput: () => {
      const wanted = search.value.trim().toLowerCase();
      for (const [n, button] of [...types.children].entries()) button.hidden = !summary.types[n].name.toLowerCase().includes(wanted);
    } });
  const variants = element("ol", { className: "variants" }, ...summary.variants.map((v) =>
    element("li", {}, element("b", { textContent: v.share }), ` ${v.events.join(" › ")}`)));
  const pattern = element("div", { className: "pattern" });
  const bound = element("input", { type: "number", min: 0, placeholder: "any time", ariaLabel: "within",
    oninput: () => { within = bound.value; slider.value = within || slider.max; ask(false); } });
  // From nothing to the length of the longest case; at its end a match may take any time.
  const slider = element("input", { type: "range", min: 0, ariaLabel: "within",
    oninput: () => { within = bound.value = slider.value === slider.max ? "" : slider.value; ask(false); } });
  const scale = () => { slider.max = Math.ceil(summary.longest / (summary.clock ? UNITS[unit] : 1)) || 1; slider.value = within || slider.max; };
  const units = element("select", { ariaLabel: "unit", onchange: () => { unit = units.value; scale(); ask(false); } },
    ...Object.keys(UNITS).map((u) => element("option", { textContent: u, selected: u === unit })));
  const run = element("button", { className: "run", textContent: "Find matches", onclick: () => ask(true) });
  const sql = element("pre", { className: "sql" });
  const copy = element("button", { className: "copy", textContent: "Copy", onclick: async () => {
    await navigator.clipboard.writeText(sql.textContent);
    copy.textContent = "Copied";
    setTimeout(() => { copy.textContent = "Copy"; }, 1200);
  } });
  const result = element("div", { className: "result" });
  root.append(
    element("p", { className: "facts" }, ...summary.facts.map((f) => element("span", { textContent: f }))),
    element("p", { className: "columns" }, `case ${summary.columns.case || "(none)"}, time ${summary.columns.time}, event type ${summary.columns.event}; matches do not overlap`),
    element("div", { className: "two" },
      element("section", {}, element("h4", { textContent: "Event types (click to add)" }), search, types),
      element("section", {}, element("h4", { textContent: "Most frequent variants" }), variants)),
    element("h4", { textContent: "Pattern" }), pattern,
    element("div", { className: "controls" }, "within ", bound, ...(summary.clock ? [units] : []), slider, run),
    element("div", { className: "query" }, sql, copy), result);

  function ask(go) {
    number += 1;
    waiting = go;
    model.set("request", { steps: steps.map((s) => ({ ...s })), within: within === "" ? null : Number(within), unit, run: go, number });
    model.save_changes();
    show();
  }

  function show() {
    pattern.replaceChildren(...(steps.length ? steps.map((step, n) => element("span", { className: `step ${step.kind.replaceAll(" ", "-")}` },
      element("b", { textContent: step.type }),
      element("select", { ariaLabel: "how often", onchange: (e) => { step.kind = e.target.value; ask(false); } },
        ...KINDS.map((k) => element("option", { textContent: k, selected: k === step.kind }))),
      element("button", { textContent: "×", title: "take it out", onclick: () => { steps.splice(n, 1); ask(false); } })))
      : [element("em", { textContent: "Click event types, in the order in which they should come." })]));
    run.disabled = !steps.some((s) => s.kind !== "none") || waiting;
    const answer = model.get("answer");
    sql.textContent = answer.sql ?? "";
    copy.hidden = !answer.sql;
    if (waiting) { result.replaceChildren(element("p", { textContent: "Spark is at work ..." })); return; }
    if (answer.error) { result.replaceChildren(element("pre", { className: "error", textContent: answer.error })); return; }
    if (answer.shown === undefined) { result.replaceChildren(); return; }
    const more = answer.cases > answer.shown.length ? `; the first ${answer.shown.length} cases` : "";
    result.replaceChildren(
      element("p", {}, element("b", { textContent: `${some(answer.matches, "match", "matches")} in ${some(answer.cases, "case", "cases")}` }), more),
      ...answer.shown.map((c) => element("div", { className: "case" },
        element("span", { className: "name", title: some(c.matches, "match", "matches") }, c.case,
          c.since ? element("em", { textContent: `from ${c.since}` }) : ""),
        element("span", { className: "events" },
          ...(c.before ? [element("em", { textContent: `${c.before} before` })] : []),
          ...c.events.map((e) => element("span", { className: e.taken ? "event taken" : "event", title: `${e.time}${e.taken ? ` · ${e.taken}` : ""}`, textContent: e.type ?? "NULL" })),
          ...(c.after ? [element("em", { textContent: `${c.after} more` })] : [])))));
  }

  const answered = () => {
    if ((model.get("answer").number ?? 0) >= number) waiting = false;
    show();
  };
  scale();
  model.on("change:answer", answered);
  show();
  return () => model.off("change:answer", answered);
}

export default { render };
