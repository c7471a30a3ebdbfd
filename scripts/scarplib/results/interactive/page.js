// The page: what is toggled, pointed at and clicked.

function toggle(place, name, colour, on, change) {
  const label = element("label");
  const box = element("input");
  box.type = "checkbox";
  box.checked = on;
  box.addEventListener("change", () => change(box.checked));
  const words = element("b", name);
  words.style.color = colour;
  label.append(box, " ", words);
  place.append(label);
}

function makeToggles(data, plot) {
  const schemes = document.getElementById("scarp-schemes");
  for (const scheme of data.schemes) {
    toggle(schemes, scheme.name, scheme.colour, true, (on) => {
      scheme.shown = on;
      plot.update();
    });
  }
  const ops = document.getElementById("scarp-ops");
  for (const op of [...plot.ops].sort()) {
    toggle(ops, `${data.ops[op].replace("_", " ")}s`, "#333", true, (on) => {
      plot.ops[on ? "add" : "delete"](op);
      plot.update();
    });
  }
}

class Page {
  constructor(data) {
    this.data = data;
    this.plot = new Plot(data);
    this.chosen = null;
    this.plot.onUpdate = (ms) => this.say(ms);
  }

  say(ms) {
    const { points, inViewCount } = this.plot;
    const kept = this.data.schemes.reduce((sum, { commands }) => sum + commands.time.length, 0);
    const all = this.data.schemes.reduce((sum, { count }) => sum + count, 0);
    const words = kept < all ? ` (kept one by one: ${kept.toLocaleString("en")} of ${all.toLocaleString("en")})` : "";
    const number = (n) => n.toLocaleString("en");
    const which = points.length < inViewCount
      ? `the slowest ${number(points.length)} of ${number(inViewCount)} commands in view are points`
      : `all ${number(inViewCount)} commands in view are points`;
    document.getElementById("scarp-status").textContent =
      `${which}${words}; made in ${ms.toFixed(0)} ms`;
  }

  async show() {
    await this.plot.show("#scarp-plot");
    makeToggles(this.data, this.plot);
    const { el } = this.plot.view;
    el.addEventListener("mousemove", (event) => this.point(event));
    el.addEventListener("mouseleave", () => this.tip(null));
    el.addEventListener("click", (event) => this.choose(this.at(event)));
    const pressed = (id, act) => document.getElementById(id).addEventListener("click", act);
    pressed("scarp-slowest", () => this.lookAt(this.slowest()));
    pressed("scarp-next", () => this.choose(this.nextSlower()));
    pressed("scarp-whole", () => this.plot.look(0, this.plot.span));
  }

  at(event) {
    const corner = this.plot.view.el.getBoundingClientRect();
    return this.plot.nearest(event.clientX - corner.left, event.clientY - corner.top);
  }

  point(event) {
    this.tip(this.at(event), event);
  }

  tip(point, event) {
    const tip = document.getElementById("scarp-tip");
    tip.hidden = !point;
    if (point) {
      const corner = document.getElementById("scarp").getBoundingClientRect();
      tip.textContent = tipText(this.data, point);
      tip.style.left = `${Math.min(event.clientX - corner.left + 14, corner.width - 300)}px`;
      tip.style.top = `${event.clientY - corner.top + 14}px`;
    }
  }

  choose(point) {
    if (point) {
      const collections = collectionsOf(this.data.schemes[point.row], point.i);
      this.chosen = point;
      this.plot.mark(point, collections);
      showDetails(this.data, point, collections);
    }
  }

  // Of all kept commands of the schemes and kinds that are shown.
  slowest() {
    let best = null;
    this.data.schemes.forEach((scheme, row) => {
      const { latency, op } = scheme.commands;
      for (let i = 0; scheme.shown && i < latency.length; i++) {
        if (this.plot.ops.has(op[i]) && !(latency[i] <= best?.ns)) {
          best = { row, i, ns: latency[i] };
        }
      }
    });
    return best;
  }

  nextSlower() {
    const ns = ({ row, i }) => this.data.schemes[row].commands.latency[i];
    const than = this.chosen ? ns(this.chosen) : 0;
    const slower = this.plot.points.filter((point) => ns(point) > than);
    return slower.reduce((best, point) => (!best || ns(point) < ns(best) ? point : best), null);
  }

  lookAt(point) {
    if (point) {
      const { time, latency } = this.data.schemes[point.row].commands;
      const [begin, length] = [time[point.i] / 1e9, Math.max(latency[point.i], 1e5) / 1e9];
      this.plot.look(begin - length, begin + 2 * length);
      this.choose(point);
    }
  }
}

async function startPage() {
  try {
    await loadLibrary();
    const page = new Page(await readData());
    await page.show();
    window.scarpReport = page;
  } catch (error) {
    document.getElementById("scarp-status").textContent = `The plot could not be made: ${error}`;
    throw error;
  }
}

startPage();
