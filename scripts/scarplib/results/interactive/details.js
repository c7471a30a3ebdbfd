// What is said of one command: its causes as a bar, where it went, and what it stood behind.

function element(tag, text, ...classes) {
  const made = document.createElement(tag);
  made.textContent = text ?? "";
  made.classList.add(...classes);
  return made;
}

function causesOf(data, scheme, i) {
  return data.causes
    .map((cause) => ({ ...cause, ns: scheme.causes[cause.name]?.[i] ?? 0 }))
    .filter((cause) => cause.ns > 0);
}

// Causes that are waits for a collection, or may be.
const BEHIND = ["die_gc_program", "die_gc_read", "die_gc_held", "die_erase", "no_space"];

// The collections of its die that ran while it waited; none if it did not wait for any.
function collectionsOf(scheme, i) {
  const { time, latency, die } = scheme.commands;
  const runs = scheme.collections;
  const waited = BEHIND.some((name) => scheme.causes[name]?.[i]);
  if (!waited || !die?.[i]) {
    return [];
  }
  const [from, until] = [time[i], time[i] + latency[i]];
  const found = [];
  const last = lowerBound(runs.begin, until - runs.first);
  for (let r = 0; r < last; r++) {
    const begin = runs.begin[r] + runs.first;
    const end = begin + runs.length[r];
    if (runs.die[r] === die[i] - 1 && end > from && runs.length[r]) {
      found.push({ begin, end, plane: runs.plane[r], block: runs.block[r], moved: runs.moved[r] });
    }
  }
  return found;
}

function causeBar(causes, total) {
  const bar = element("div", "", "causes");
  const legend = element("div", "", "legend");
  for (const cause of causes) {
    const part = element("div");
    part.style.cssText = `width:${(cause.ns * 100) / total}%;background:${cause.colour}`;
    part.title = `${cause.label}: ${cause.sentence}`;
    part.dataset.cause = cause.name;
    part.dataset.ns = cause.ns;
    bar.append(part);
  }
  for (const cause of [...causes].sort((a, b) => b.ns - a.ns)) {
    const line = element("span");
    const square = element("i");
    square.style.background = cause.colour;
    const share = ((cause.ns * 100) / total).toFixed(1);
    line.append(square, `${cause.label} ${humanNs(cause.ns)} (${share} %)`);
    line.title = cause.sentence;
    legend.append(line);
  }
  return [bar, legend];
}

function placeWords(scheme, i) {
  const { die, plane, block, page } = scheme.commands;
  if (!die) {
    return "not known: the log could not be replayed";
  }
  if (!die[i]) {
    return "none: it needed no flash command of its own";
  }
  return `die ${die[i] - 1}, plane ${plane[i] - 1}, block ${block[i] - 1}, page ${page[i] - 1}`;
}

function collectionWords(run) {
  const took = humanNs(run.end - run.begin);
  return `of block ${run.block} in plane ${run.plane}: ${run.moved} units moved in ${took}, ` +
    `from ${(run.begin / 1e9).toFixed(6)} to ${(run.end / 1e9).toFixed(6)} s`;
}

function behindWords(scheme, collections) {
  if (!scheme.commands.die) {
    return ["not known, as the die is not"];
  }
  return collections.length ? collections.map(collectionWords) : ["none"];
}

function facts(scheme, i, collections) {
  const { time, latency, offset, length, stream } = scheme.commands;
  const submit = scheme.begin + time[i];
  const rows = [
    ["submitted", `${submit} ns of the drive's clock, ${(time[i] / 1e9).toFixed(9)} s into the job`],
    ["completed", `${submit + latency[i]} ns, after ${latency[i]} ns`],
    ["LBA", `${offset[i] / 512} (of 512 bytes), byte ${offset[i]}`],
    ["size", `${length[i]} bytes`],
    ["served by", placeWords(scheme, i)],
    ...behindWords(scheme, collections).map((words, n) => [n ? "" : "behind the collection", words]),
  ];
  if (stream[i]) {
    rows.push(["stream", String(stream[i])]);
  }
  const table = element("table", "", "facts");
  for (const [name, value] of rows) {
    const line = element("tr");
    line.append(element("td", name), element("td", value));
    table.append(line);
  }
  return table;
}

function quoted(path) {
  return /^[\w./+-]+$/.test(path) ? path : `'${path}'`;
}

// Some time around the command, so that what it waited for is in the window, too.
function timelineCommand(scheme, i) {
  const moment = scheme.begin + scheme.commands.time[i];
  const window = Math.max(1000, Math.ceil((scheme.commands.latency[i] * 1.5) / 1000));
  return `scripts/scarp timeline ${quoted(scheme.folder)} --around ${moment} --for ${window} -o moment.pftrace`;
}

// What `scarp why` said of one of the slowest: WORKS of instants.py, in that order.
const WORKS = [
  ["host's read", "#56B4E9"], ["host's program", "#0072B2"], ["collection's read", "#F5C27A"],
  ["collection's program", "#D55E00"], ["erase", "#8C2D04"], ["other", "#44AA99"],
];

function signed(ns) {
  return ns ? `${ns < 0 ? "−" : "+"}${humanNs(Math.abs(ns))}` : "0";
}

function stripLine(name, runs) {
  const line = element("div", "", "strip");
  const bar = element("div");
  bar.title = name;
  for (const [from, to, work] of runs) {
    const part = element("i");
    part.title = WORKS[work][0];
    part.dataset.work = work;
    part.style.cssText =
      `left:${from / 3}%;width:${(to - from) / 3}%;background:${WORKS[work][1]}`;
    bar.append(part);
  }
  line.append(element("span", name), bar);
  return line;
}

function stripLegend(strips) {
  const used = new Set(strips.runs.flatMap((runs) => runs.map((run) => run[2])));
  const legend = element("div", "", "legend");
  WORKS.forEach(([label, colour], work) => {
    if (used.has(work)) {
      const square = element("i");
      square.style.background = colour;
      const line = element("span");
      line.append(square, label);
      legend.append(line);
    }
  });
  return legend;
}

function costTable(episode, command, total) {
  const table = element("table", "", "facts", "cost");
  const names = ["", "this command", "all in the window", "held back by the host", "so it is"];
  const head = element("tr");
  head.append(...names.map((name) => element("th", name)));
  table.append(head);
  const fact = element("tr");
  fact.append(element("td", "in fact"), element("td", humanNs(total)), element("td", "–"),
              element("td", "–"), element("td", "–"));
  table.append(fact);
  episode.branches.forEach((branch, n) => {
    const [ns, exact, held] = command.branches[n];
    const took = humanNs(ns) + (exact ? "" : " ~") + (held ? `, held ${humanNs(held)}` : "");
    const line = element("tr");
    line.append(element("td", branch.name), element("td", took), element("td", signed(branch.all)),
                element("td", signed(branch.held)), element("td", branch.verdict));
    table.append(line);
  });
  return table;
}

// Null where it was not asked.
function wouldHaveCost(scheme, i) {
  const command = scheme.why?.commands[i];
  if (!command) {
    return null;
  }
  const episode = scheme.why.episodes[command.episode];
  const part = element("div", "", "why");
  part.append(
    element("h4", "What it would have cost"),
    element("p", `From ${(episode.at / 1e9).toFixed(9)} s of the job on, in a window of ` +
      `${humanNs(episode.window)}. ~ is assumed: the guest would have known of the branch by then.`),
    costTable(episode, command, scheme.commands.latency[i]),
  );
  if (episode.strips) {
    const { die, span, runs } = episode.strips;
    part.append(element("p", `What die ${die} did in these ${humanNs(span)}:`));
    runs.forEach((run, n) =>
      part.append(stripLine(n ? episode.branches[n - 1].name : "in fact", run)));
    part.append(stripLegend(episode.strips));
  }
  return part;
}

// A nanosecond before the first collection that it was behind, or before it came.
function forkMoment(scheme, i, collections) {
  const first = Math.min(scheme.commands.time[i], ...collections.map((run) => run.begin));
  return Math.max(0, scheme.begin + first - 1);
}

function otherLines(data, scheme, i, collections) {
  const made = [];
  if (scheme.commands.order && !scheme.why?.commands[i]) {
    made.push(
      element("p", "What it would have cost under other schemes, and who pays:"),
      copyLine(`scripts/scarp why ${quoted(scheme.folder)} --command ${scheme.commands.order[i]}`),
    );
  }
  if (data.again && scheme.compared.length) {
    const at = forkMoment(scheme, i, collections);
    made.push(
      element("p", "The same in guests, which react:"),
      copyLine(`${data.again} --schemes ${scheme.compared.join(",")} --at ${at}ns`),
    );
  }
  return made;
}

function copyLine(text) {
  const line = element("div", "", "copy");
  const button = element("button", "copy");
  button.type = "button";
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(line.firstChild);
      button.textContent = "selected: press Ctrl-C";
    }
  });
  line.append(element("code", text), button);
  return line;
}

function showDetails(data, { row, i }, collections) {
  const scheme = data.schemes[row];
  const total = scheme.commands.latency[i];
  const causes = causesOf(data, scheme, i);
  const head = element(
    "h3",
    `${data.ops[scheme.commands.op[i]]} of ${scheme.name}, ${humanNs(total)}`,
  );
  const panel = document.getElementById("scarp-details");
  panel.replaceChildren(head, ...causeBar(causes, Math.max(1, total)), facts(scheme, i, collections));
  const cost = wouldHaveCost(scheme, i);
  if (cost) {
    panel.insertBefore(cost, panel.lastChild);
  }
  if (scheme.folder) {
    panel.append(...otherLines(data, scheme, i, collections));
    panel.append(
      element("p", "Everything that the drive did around it, for ui.perfetto.dev:"),
      copyLine(timelineCommand(scheme, i)),
    );
  }
}

function tipText(data, { row, i }) {
  const scheme = data.schemes[row];
  const first = causesOf(data, scheme, i).sort((a, b) => b.ns - a.ns)[0];
  const { op, latency, offset, length } = scheme.commands;
  const most = first ? `, mostly ${first.label}` : "";
  return `${scheme.name}: ${data.ops[op[i]]} of ${length[i]} bytes at LBA ${offset[i] / 512}, ` +
    `${humanNs(latency[i])}${most}`;
}
