/* Draws what `bbrmon experiment -j` says. */
const data = JSON.parse(document.getElementById("data").textContent);
const by_id = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

function filled(made, attributes, text) {
	for (const key in attributes)
		made.setAttribute(key, attributes[key]);
	if (text !== undefined)
		made.textContent = text;
	return made;
}

const element = (name, attributes, text) => filled(document.createElement(name), attributes, text);
const drawn = (name, attributes, text) => filled(document.createElementNS(SVG, name), attributes, text);

const UNITS = {
	"bit/s": [[1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"], [1, "bit/s"]],
	"us": [[1e6, "s"], [1e3, "ms"], [1, "µs"]],
	"share": [[0.01, "%"]],
	"count": [[1, ""]],
};

/*
 * As text: three digits at most, and none below the finest step, 0 if that is not known. The unit is that of the largest
 * value.
 */
function numbers(values, unit, finest, sign) {
	const most = Math.max(...values.map(Math.abs));
	const step = Math.max(finest, most ? 10 ** (Math.floor(Math.log10(most)) - 2) : 0);
	const rounded = values.map((value) => step ? Math.round(value / step) * step : 0);
	const largest = Math.max(...rounded.map(Math.abs));
	const [size, name] = UNITS[unit].find(([least]) => largest >= 0.9995 * least) || UNITS[unit].at(-1);
	const decimals = step ? Math.max(0, -Math.floor(Math.log10(step / size) + 1e-9)) : 0;
	const texts = rounded.map((value) => {
		const text = (value / size).toFixed(decimals).replace(/^-(?=[0.]*$)/, "");
		return (sign && !/^-|^[0.]*$/.test(text) ? "+" : "") + text.replace("-", "−");
	});
	return [texts, name];
}

function format(value, unit, finest = 0) {
	if (value === null)
		return "–";
	const [[text], name] = numbers([value], unit, finest, false);
	return `${text} ${name}`.trim();
}

/* A share differs by percentage points. */
function difference(values, unit, finest) {
	if (values.includes(null))
		return "–";
	const [texts, name] = numbers(values, unit, finest, true);
	return `${texts.join(" to ")} ${name.replace("%", "pp")}`.trim();
}

/* Two digits of half the interval mean something; and that an end is not 0, if 0 is not in the interval. */
function finest(m) {
	const half = m.low === null ? 0 : (m.high - m.low) / 2;
	const step = half > 0 ? 10 ** (Math.floor(Math.log10(half)) - 1) : 0;
	return m.verdict ? Math.min(step, 10 ** Math.floor(Math.log10(Math.min(Math.abs(m.low), Math.abs(m.high))))) : step;
}

function duration(seconds) {
	if (seconds < 60)
		return `${seconds} s`;
	return seconds < 3600 ? `${Math.floor(seconds / 60)} min ${seconds % 60} s` :
		`${Math.floor(seconds / 3600)} h ${Math.floor(seconds / 60) % 60} min`;
}

function row(cells, name = "td") {
	const tr = element("tr");
	for (const cell of cells) {
		const field = element(name);
		field.append(cell);
		tr.append(field);
	}
	return tr;
}

/* Draws a difference as a share of the control's value, no more than `most`. */
const WIDTH = 224, HEIGHT = 22;

function interval(m, most) {
	const svg = drawn("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}` });
	const base = m.control.value;
	const x = (value) => WIDTH / 2 * (1 + Math.max(-1, Math.min(1, value / base / most)));
	const verdict = m.verdict || "";

	if (m.low !== null && base > 0) {
		svg.append(drawn("rect", { class: "band", x: x(-m.detectable), y: 0,
			width: x(m.detectable) - x(-m.detectable), height: HEIGHT }));
		svg.append(drawn("line", { class: "bar " + verdict, x1: x(m.low), x2: x(m.high),
			y1: HEIGHT / 2, y2: HEIGHT / 2 }));
		svg.append(drawn("circle", { class: "dot", cx: x(m.difference), cy: HEIGHT / 2, r: 3.5 }));
	}
	svg.append(drawn("line", { class: "zero", x1: WIDTH / 2, x2: WIDTH / 2, y1: 0, y2: HEIGHT }));
	return svg;
}

function differences(size) {
	const shown = data.metrics.filter((m) => m.size === size);
	const table = element("table");
	const relative = shown.filter((m) => m.low !== null && m.control.value > 0).map((m) =>
		Math.max(Math.abs(m.low), Math.abs(m.high)) / m.control.value);
	const most = Math.min(1, Math.max(0.01, ...relative));

	const percent = Math.round(100 * most);
	const is_more = data.arms.length > 2; /* then a column says which arm is compared */
	table.append(row(["metric", data.arms[0].label, ...(is_more ? ["arm"] : []), is_more ? "its value" : data.arms[1].label,
		"difference", `−${percent} % to +${percent} %`, "95 % interval", "could show", ""], "th"));
	for (const m of shown) {
		const name = element("span", { title: m.title }, m.metric), step = finest(m);
		table.append(row([name, format(m.control.value, m.unit, step), ...(is_more ? [m.treated.label] : []),
			format(m.treated.value, m.unit, step), difference([m.difference], m.unit, step), interval(m, most),
			m.low === null ? element("span", { class: "why" }, "none: " + m.no_interval) : difference([m.low, m.high], m.unit, step),
			format(m.detectable, m.unit, step).replace("%", "pp"),
			element("span", { class: m.verdict || "" }, m.verdict || "")]));
	}
	by_id("differences").replaceChildren(table);
}

const PLOT = { width: 384, height: 224, left: 44, right: 12, top: 26, bottom: 40 };

/* 1, 2 and 5 times powers of ten, or the powers alone, so that the labels have room; the ends if there is none between. */
function ticks(low, high) {
	for (const factors of [[1, 2, 5], [1, 3], [1]]) {
		const found = [];
		for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
			found.push(...factors.map((f) => f * 10 ** power).filter((v) => v >= low && v <= high));
		if (found.length <= 6)
			return found.length > 1 ? found : low < high ? [low, high] : [low];
	}
	return [low, high];
}

/* A logarithmic axis: goodput and times span orders of magnitude. */
function curves_of(quantity) {
	const curves = data.curves.filter((c) => c.quantity === quantity && c.connections);
	const points = curves.flatMap((c) => c.percentiles).filter((v) => v > 0);
	if (!points.length)
		return null;
	const least = Math.min(...points), most = Math.max(...points);
	const low = Math.log(least), high = Math.log(most);
	const x = (v) => PLOT.left + (PLOT.width - PLOT.left - PLOT.right) *
		(high > low ? (Math.log(Math.max(v, least)) - low) / (high - low) : 0.5);
	const y = (share) => PLOT.height - PLOT.bottom - (PLOT.height - PLOT.top - PLOT.bottom) * share;
	const svg = drawn("svg", { viewBox: `0 0 ${PLOT.width} ${PLOT.height}` });

	svg.append(drawn("text", { x: PLOT.left, y: 16 }, "connections below this " + quantity));
	for (const share of [0, 0.5, 1]) {
		svg.append(drawn("line", { class: "axis", x1: PLOT.left, x2: PLOT.width - PLOT.right,
			y1: y(share), y2: y(share) }));
		svg.append(drawn("text", { x: PLOT.left - 6, y: y(share) + 4, "text-anchor": "end" }, `${100 * share} %`));
	}
	for (const value of ticks(least, most)) {
		svg.append(drawn("line", { class: "axis", x1: x(value), x2: x(value), y1: y(0), y2: y(0) + 5 }));
		svg.append(drawn("text", { x: x(value), y: y(0) + 17, "text-anchor": x(value) > PLOT.width - 40 ? "end" : "middle" },
			format(value, curves[0].unit).replace(/\.0+(?= )/, "")));
	}
	svg.append(drawn("text", { x: (PLOT.left + PLOT.width - PLOT.right) / 2, y: PLOT.height - 6, "text-anchor": "middle" },
		quantity));
	for (const c of curves) {
		const arm = data.arms.findIndex((a) => a.label === c.arm);
		const line = drawn("polyline", { class: "curve arm" + arm,
			points: c.percentiles.map((v, i) => `${x(v)},${y((i + 1) / 100)}`).join(" ") });
		line.append(drawn("title", {}, `${c.arm}, ${c.connections} connections`));
		svg.append(line);
	}
	return svg;
}

function legend() {
	const p = element("p", { class: "note legend" });
	data.arms.forEach((arm, i) => p.append(element("b", { class: "arm" + i }, arm.label + " ")));
	return p;
}

by_id("title").textContent = `${data.name}: ${data.design}`;
by_id("about").textContent = `${data.n_units} ${data.units} are compared. ` +
	`${duration(data.seconds)}, ${data.arms.reduce((n, a) => n + a.ended, 0)} connections that have ended.`;
if (data.warning) {
	by_id("warning").textContent = data.warning;
	by_id("warning").hidden = false;
}
by_id("arms").append(row(["arm", "algorithm", "profile", "connections", "ended", "refused"], "th"));
for (const arm of data.arms)
	by_id("arms").append(row([arm.label, arm.cc, arm.profile || "–", arm.connections, arm.ended, arm.refused]));
by_id("missing").textContent = `Open ${data.open}, chosen by the application ${data.chosen}; missing here: ` +
	`overwritten ${data.overwritten}, lost ${data.lost}, no room ${data.no_memory}.` +
	(data.continued ? ` ${data.continued} parts of connections that began before a washout ended are ` +
		`${data.continued_counted ? "counted" : "left out"}.` : "") +
	data.arms.filter((arm) => arm.refused).map((arm) => ` Refused to ${arm.label}: ${arm.refused_why}.`).join("");
for (const size of new Set(data.metrics.map((m) => m.size)))
	if (data.metrics.some((m) => m.size === size && m.difference !== null))
		by_id("size").append(element("option", { value: size }, size));
by_id("size").addEventListener("change", () => differences(by_id("size").value));
differences("all");
by_id("curves").append(legend());
for (const quantity of new Set(data.curves.map((c) => c.quantity))) {
	const svg = curves_of(quantity);
	if (svg) {
		const figure = element("figure");
		figure.append(svg);
		by_id("curves").append(figure);
	}
}
