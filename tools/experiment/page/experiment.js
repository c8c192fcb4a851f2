/* Draws what `bbrmon experiment -j` says. */
const data = JSON.parse(document.getElementById("data").textContent);
const by_id = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

function element(name, attributes, text) {
	const made = document.createElement(name);
	for (const key in attributes)
		made.setAttribute(key, attributes[key]);
	if (text !== undefined)
		made.textContent = text;
	return made;
}

function drawn(name, attributes, text) {
	const made = document.createElementNS(SVG, name);
	for (const key in attributes)
		made.setAttribute(key, attributes[key]);
	if (text !== undefined)
		made.textContent = text;
	return made;
}

const STEPS = {
	"bit/s": [[1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"], [0, "bit/s"]],
	"us": [[1e6, "s"], [1e3, "ms"], [0, "µs"]],
};

function format(value, unit) {
	if (value === null)
		return "–";
	if (unit === "share")
		return Number((100 * value).toPrecision(3)) + " %";
	if (unit === "count")
		return String(Number(value.toPrecision(3)));
	const [from, name] = STEPS[unit].find(([least]) => Math.abs(value) >= least);
	return Number((value / (from || 1)).toPrecision(3)) + " " + name;
}

function signed(value, unit) {
	if (value === null)
		return "–";
	return (value > 0 ? "+" : "") + format(value, unit).replace("%", "pp");
}

function row(cells, name) {
	const tr = element("tr");
	for (const cell of cells) {
		const td = element(name || "td");
		if (cell instanceof Node)
			td.append(cell);
		else
			td.textContent = cell;
		tr.append(td);
	}
	return tr;
}

/* Draws a difference as a share of the control's value, no more than `most`. */
const WIDTH = 352, HEIGHT = 22;

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

	table.append(row(["", data.arms[0].label, "against it", "", "difference",
		`−${Math.round(100 * most)} % to +${Math.round(100 * most)} %`, "95 % interval", "could show", ""], "th"));
	for (const m of shown) {
		table.append(row([m.title, format(m.control.value, m.unit), m.treated.label,
			format(m.treated.value, m.unit), signed(m.difference, m.unit), interval(m, most),
			m.low === null ? "no interval: " + m.no_interval :
				`${signed(m.low, m.unit)} to ${signed(m.high, m.unit)}`,
			format(m.detectable, m.unit), element("span", { class: m.verdict || "" }, m.verdict || "")]));
	}
	by_id("differences").replaceChildren(table);
}

const PLOT = { width: 384, height: 208, left: 8, right: 8, top: 26, bottom: 20 };

/* A logarithmic axis: goodput and times span orders of magnitude. */
function curves_of(quantity) {
	const curves = data.curves.filter((c) => c.quantity === quantity && c.connections);
	const points = curves.flatMap((c) => c.percentiles).filter((v) => v > 0);
	if (!points.length)
		return null;
	const low = Math.log(Math.min(...points)), high = Math.log(Math.max(...points));
	const x = (v) => PLOT.left + (PLOT.width - PLOT.left - PLOT.right) *
		(high > low ? (Math.log(Math.max(v, Math.exp(low))) - low) / (high - low) : 0.5);
	const y = (share) => PLOT.height - PLOT.bottom - (PLOT.height - PLOT.top - PLOT.bottom) * share;
	const svg = drawn("svg", { viewBox: `0 0 ${PLOT.width} ${PLOT.height}` });

	svg.append(drawn("text", { x: PLOT.left, y: 16 }, quantity));
	for (const share of [0, 0.5, 1])
		svg.append(drawn("line", { class: "axis", x1: PLOT.left, x2: PLOT.width - PLOT.right,
			y1: y(share), y2: y(share) }));
	svg.append(drawn("text", { x: PLOT.left, y: PLOT.height - 5 }, format(Math.exp(low), curves[0].unit)));
	svg.append(drawn("text", { x: PLOT.width - PLOT.right, y: PLOT.height - 5, "text-anchor": "end" },
		format(Math.exp(high), curves[0].unit)));
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
	const p = element("p", { class: "note" });
	data.arms.forEach((arm, i) => p.append(element("b", { class: "arm" + i }, arm.label + " ")));
	return p;
}

by_id("title").textContent = `${data.name}: ${data.design}`;
by_id("about").textContent = `${data.n_units} ${data.units} are compared. ` +
	`${Math.round(data.seconds / 60)} minutes, ${data.arms.reduce((n, a) => n + a.ended, 0)} connections that have ended.`;
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
		`${data.continued_counted ? "counted" : "left out"}.` : "");
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
