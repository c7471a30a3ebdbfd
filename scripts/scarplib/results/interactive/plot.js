// What is drawn: bins and points of the stretch of time that is in view, and planes that collect.

// At most so many bins of a kind of a scheme, and so many points in all, are drawn at a time.
const BINS_IN_VIEW = 512;
const POINTS_IN_VIEW = 4000;
const STRIP_COLUMNS = 700;
const MARKERS = { read: "circle", write: "triangle" };

function figureOptions(xRange, height) {
  return {
    x_range: xRange,
    height,
    sizing_mode: "stretch_width",
    tools: "xpan,xwheel_zoom,box_zoom,reset",
    active_drag: "xpan",
    active_scroll: "xwheel_zoom",
    toolbar_location: "right",
  };
}

function latencyRange(data) {
  let [low, high] = [Infinity, 1];
  for (const scheme of data.schemes) {
    for (const [coarse] of Object.values(scheme.levels)) {
      for (let i = 0; i < coarse.number.length; i++) {
        low = Math.min(low, coarse.lowest[i]);
        high = Math.max(high, coarse.highest[i]);
      }
    }
  }
  return [Math.max(1, Math.min(low, high)) / 1.5, high * 1.6];
}

class Plot {
  constructor(data) {
    this.data = data;
    this.ops = new Set(data.schemes.flatMap((scheme) => Object.keys(scheme.levels).map(Number)));
    this.points = [];
    this.span = Math.max(1, ...data.schemes.map((scheme) => scheme.span)) / 1e9;
    this.xRange = new Bokeh.Range1d({ start: 0, end: this.span,
                                      bounds: [-0.02 * this.span, 1.02 * this.span] });
    this.yEnds = latencyRange(data);
    this.main = this.makeMain();
    this.strip = this.makeStrip();
    this.layers = data.schemes.map((scheme) => this.makeLayers(scheme));
    this.makeSelection();
    this.waiting = null;
    this.xRange.change.connect(() => this.updateSoon());
  }

  makeMain() {
    const figure = Bokeh.Plotting.figure({
      ...figureOptions(this.xRange, 430),
      y_range: new Bokeh.Range1d({ start: this.yEnds[0], end: this.yEnds[1] }),
      y_axis_type: "log",
      y_axis_label: "latency",
    });
    figure.left[0].formatter = new Bokeh.CustomJSTickFormatter({
      code: "return tick < 1e6 ? tick / 1e3 + ' µs' : tick < 1e9 ? tick / 1e6 + ' ms' : tick / 1e9 + ' s'",
    });
    figure.min_border_left = 80;
    return figure;
  }

  makeStrip() {
    const figure = Bokeh.Plotting.figure({
      ...figureOptions(this.xRange, 120),
      y_range: new Bokeh.DataRange1d({ start: 0 }),
      x_axis_label: "virtual time since the job's start (s)",
      y_axis_label: "planes in GC",
      toolbar_location: null,
    });
    figure.left[0].ticker = new Bokeh.BasicTicker({ min_interval: 1, num_minor_ticks: 0 });
    figure.min_border_left = 80;
    return figure;
  }

  makeLayers(scheme) {
    const source = (...names) =>
      new Bokeh.ColumnDataSource({ data: Object.fromEntries(names.map((name) => [name, []])) });
    const layer = {
      bins: source("left", "right", "lowest", "p50", "p99", "highest", "pale", "dark"),
      points: source("x", "y", "marker"),
      strip: source("left", "right", "top"),
    };
    const field = (name) => ({ field: name });
    const common = { source: layer.bins, left: field("left"), right: field("right"),
                     fill_color: scheme.colour, line_color: null };
    this.main.quad({ ...common, bottom: field("lowest"), top: field("highest"),
                     fill_alpha: field("pale") });
    this.main.quad({ ...common, bottom: field("p50"), top: field("p99"),
                     fill_alpha: field("dark") });
    this.main.scatter({ source: layer.points, x: field("x"), y: field("y"), size: 5,
                        marker: field("marker"), fill_color: scheme.colour, fill_alpha: 0.6,
                        line_color: null });
    this.strip.quad({ source: layer.strip, left: field("left"), right: field("right"), bottom: 0,
                      top: field("top"), fill_color: scheme.colour, fill_alpha: 0.45,
                      line_color: null });
    return layer;
  }

  makeSelection() {
    const field = (name) => ({ field: name });
    this.chosen = new Bokeh.ColumnDataSource({ data: { x0: [], x1: [], y: [] } });
    this.behind = new Bokeh.ColumnDataSource({ data: { left: [], right: [] } });
    this.main.quad({ source: this.behind, left: field("left"), right: field("right"),
                     bottom: this.yEnds[0], top: this.yEnds[1], fill_color: "#D9A441",
                     fill_alpha: 0.25, line_color: "#B07D1A", level: "underlay" });
    this.main.segment({ source: this.chosen, x0: field("x0"), x1: field("x1"), y0: field("y"),
                        y1: field("y"), line_color: "#111", line_width: 2 });
    this.main.scatter({ source: this.chosen, x: field("x0"), y: field("y"), size: 11,
                        fill_color: null, line_color: "#111", line_width: 2 });
  }

  async show(target) {
    const both = new Bokeh.Column({ children: [this.main, this.strip],
                                    sizing_mode: "stretch_width" });
    const view = await Bokeh.Plotting.show(both, target);
    this.view = view.child_views[0];
    this.update();
  }

  updateSoon() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.update(), 40);
  }

  // Of a scheme: the kept commands in view that may be shown, by their places.
  inView(scheme) {
    const { time, op } = scheme.commands;
    const found = [];
    const last = lowerBound(time, this.xRange.end * 1e9);
    for (let i = lowerBound(time, this.xRange.start * 1e9); i < last; i++) {
      if (this.ops.has(op[i])) {
        found.push(i);
      }
    }
    return found;
  }

  update() {
    const began = performance.now();
    const shown = this.data.schemes.map((scheme) => (scheme.shown ? this.inView(scheme) : []));
    const inView = shown.reduce((sum, list) => sum + list.length, 0);
    const least = this.leastLatency(shown, inView);
    this.points = [];
    this.data.schemes.forEach((scheme, row) => {
      const whole = scheme.count === scheme.commands.time.length && inView <= POINTS_IN_VIEW;
      this.layers[row].bins.data = scheme.shown && !whole ? this.binsOf(scheme) : this.binsOf(null);
      this.layers[row].points.data = this.pointsOf(row, shown[row], least);
      this.layers[row].strip.data = this.stripOf(scheme);
    });
    this.inViewCount = inView;
    this.onUpdate?.(performance.now() - began);
  }

  // Only commands at least as slow as this are points.
  leastLatency(shown, inView) {
    if (inView <= POINTS_IN_VIEW) {
      return 0;
    }
    const all = new Float64Array(inView);
    let n = 0;
    shown.forEach((list, row) => {
      const { latency } = this.data.schemes[row].commands;
      for (const i of list) {
        all[n++] = latency[i];
      }
    });
    return all.sort()[inView - POINTS_IN_VIEW];
  }

  pointsOf(row, list, least) {
    const { time, latency, op } = this.data.schemes[row].commands;
    const out = { x: [], y: [], marker: [] };
    for (const i of list) {
      // Many may be as slow as the least: those that go beyond the limit are left out.
      if (latency[i] >= least && this.points.length < 2 * POINTS_IN_VIEW) {
        const [x, y] = [time[i] / 1e9, Math.max(1, latency[i])];
        out.x.push(x);
        out.y.push(y);
        out.marker.push(MARKERS[this.data.ops[op[i]]] ?? "square");
        this.points.push({ row, i, x, y });
      }
    }
    return out;
  }

  binsOf(scheme) {
    const out = { left: [], right: [], lowest: [], p50: [], p99: [], highest: [], pale: [], dark: [] };
    const [begin, end] = [this.xRange.start * 1e9, this.xRange.end * 1e9];
    for (const [op, levels] of Object.entries(scheme?.levels ?? {})) {
      if (!this.ops.has(Number(op))) {
        continue;
      }
      const fits = levels.filter((level) => (end - begin) / level.width <= BINS_IN_VIEW);
      const level = fits.at(-1) ?? levels[0];
      const last = lowerBound(level.number, end / level.width);
      const first = lowerBound(level.number, Math.floor(begin / level.width));
      for (let i = first; i < last; i++) {
        out.left.push((level.number[i] * level.width) / 1e9);
        out.right.push(((level.number[i] + 1) * level.width) / 1e9);
        out.lowest.push(Math.max(1, level.lowest[i]));
        out.p50.push(Math.max(1, level.p50[i]));
        out.p99.push(Math.max(1, level.p99[i]));
        out.highest.push(Math.max(1, level.highest[i]));
        out.pale.push(op === "0" ? 0.16 : 0.08);
        out.dark.push(op === "0" ? 0.5 : 0.25);
      }
    }
    return out;
  }

  // How many planes collect: the most in each of some hundred columns of the view.
  stripOf(scheme) {
    const out = { left: [], right: [], top: [] };
    if (!scheme.shown) {
      return out;
    }
    scheme.steps ??= gcSteps(scheme.collections);
    const { times, counts } = scheme.steps;
    const [begin, end] = [this.xRange.start * 1e9, this.xRange.end * 1e9];
    const width = (end - begin) / STRIP_COLUMNS;
    let at = lowerBound(times, begin);
    let level = at ? counts[at - 1] : 0;
    let until = -1;
    for (let i = 0; i < STRIP_COLUMNS; i++) {
      let most = level;
      for (; at < times.length && times[at] < begin + (i + 1) * width; at++) {
        level = counts[at];
        most = Math.max(most, level);
      }
      if (most && out.top.at(-1) === most && until === i) {
        // Next to one of the same height: one wide one shows no seams.
        out.right[out.right.length - 1] = (begin + (i + 1) * width) / 1e9;
      } else if (most) {
        out.left.push((begin + i * width) / 1e9);
        out.right.push((begin + (i + 1) * width) / 1e9);
        out.top.push(most);
      }
      until = most ? i + 1 : until;
    }
    return out;
  }

  // Where a command is on the screen, from the corner of the plot's element.
  pixel({ x, y }) {
    const { bbox } = this.view.frame;
    const [low, high] = [Math.log(this.main.y_range.start), Math.log(this.main.y_range.end)];
    const { start, end } = this.xRange;
    return [
      bbox.left + ((x - start) / (end - start)) * bbox.width,
      bbox.top + (1 - (Math.log(y) - low) / (high - low)) * bbox.height,
    ];
  }

  // The drawn command that is nearest to a place, and not far from it.
  nearest(px, py, far = 12) {
    let [best, found] = [far * far, null];
    for (const point of this.points) {
      const [x, y] = this.pixel(point);
      const distance = (x - px) ** 2 + (y - py) ** 2;
      if (distance <= best) {
        [best, found] = [distance, point];
      }
    }
    return found;
  }

  mark(point, collections) {
    const { time, latency } = this.data.schemes[point.row].commands;
    const [x0, x1] = [time[point.i] / 1e9, (time[point.i] + latency[point.i]) / 1e9];
    this.chosen.data = { x0: [x0], x1: [x1], y: [Math.max(1, latency[point.i])] };
    this.behind.data = {
      left: collections.map((run) => run.begin / 1e9),
      right: collections.map((run) => run.end / 1e9),
    };
  }

  look(start, end) {
    this.xRange.setv({ start, end });
    this.main.y_range.setv({ start: this.yEnds[0], end: this.yEnds[1] });
  }
}

function gcSteps({ first, begin, length }) {
  const ends = Float64Array.from(begin, (from, i) => from + length[i]).sort();
  const times = [];
  const counts = [];
  for (let b = 0, e = 0; e < ends.length; ) {
    const moment = b < begin.length && begin[b] <= ends[e] ? begin[b] : ends[e];
    while (b < begin.length && begin[b] === moment) {
      b++;
    }
    while (e < ends.length && ends[e] === moment) {
      e++;
    }
    times.push(moment + first);
    counts.push(b - e);
  }
  return { times, counts };
}
