// SPDX-License-Identifier: GPL-2.0-only
// The page: its plots, one time axis for all of them, and the table.
const data = JSON.parse(document.getElementById("data").textContent);
const { recording } = data;
const END = Math.max(recording.duration_us / 1e6, 1e-6);
const INTERVAL = recording.interval_ns / 1e9;
// For tests and for curious people.
const report = { data, plots: {}, flow: null };
window.report = report;
let synchronized = [];

function byId(id)
{
	return document.getElementById(id);
}

// Columns are stored as differences.
function summed(steps)
{
	let value = 0;

	return steps.map(step => {
		if (step === null)
			return null;
		value += step;
		return value;
	});
}

const columns = new Map();

function columnsOf(flow)
{
	if (!columns.has(flow)) {
		const { time_us, values } = data.series[flow];

		columns.set(flow, { time_us: summed(time_us),
			...Object.fromEntries(Object.entries(values).map(([name, steps]) => [name, summed(steps)])) });
	}
	return columns.get(flow);
}

function scaled(values, unit)
{
	return values.map(value => (value === null ? null : value / unit));
}

function rowsOf(time, ...values)
{
	return time.map((us, i) => [us / 1e6, ...values.map(list => list[i])]);
}

// The curves of a lane for the flow's algorithm, with their values in the lane's unit.
function laneOf(id, of, flow)
{
	return data.curves[data.flows[flow].algorithm].filter(curve => curve.lane === id).map(curve => {
		const unit = curve.is_bytes ? data.flows[flow].mss_bytes || 1 : curve.divisor;

		return { ...curve, values: scaled(of[curve.values], unit) };
	});
}

// One series or, for a curve that is split, two: where the other column is not 1, and where it is.
function seriesOf(curve, of, unit)
{
	const values = scaled(curve.values, unit);
	const series = { name: curve.name, kind: curve.look, colour: colour(curve.colour) };

	if (!curve.split_by)
		return [{ ...series, values }];
	return [
		{ ...series, values: values.map((value, i) => (of[curve.split_by][i] ? null : value)) },
		{ ...series, name: curve.split_name, colour: colour("grey"),
			values: values.map((value, i) => (of[curve.split_by][i] ? value : null)) },
	];
}

// What all plots of a panel have: data.panels says it.
function plotOf(panel, unit, more)
{
	return { id: panel.id, title: unit ? `${panel.title} (${unit.name})` : panel.title,
		className: panel.is_low ? "low" : "", ...more };
}

function curvesPlot(panel, flow)
{
	const of = columnsOf(flow), unit = panel.units[flow];
	const series = laneOf(panel.lane, of, flow).flatMap(curve => seriesOf(curve, of, unit.size));
	const top = panel.lane === "rate" ? data.series[flow].rate_top_bps / unit.size : 0;

	return plotOf(panel, unit, { top, series, rows: rowsOf(of.time_us, ...series.map(({ values }) => values)) });
}

function statesPlot(panel, flow)
{
	const of = columnsOf(flow), series = laneOf(panel.lane, of, flow);

	return plotOf(panel, null, {
		className: "strip", lanes: true,
		series: series.map(({ name, names, colours }) => ({ name, names, colours })),
		rows: rowsOf(of.time_us, ...series.map(({ values }) => values)),
	});
}

// By how much counters grew in each interval.
function growth(time, counters, width)
{
	const rows = Array.from({ length: Math.ceil(END / width) },
		(_, k) => [(k + 0.5) * width, ...counters.map(() => 0)]);

	for (let i = 1; i < time.length; i++) {
		const k = Math.min(Math.floor(time[i] / 1e6 / width), rows.length - 1);

		counters.forEach((counter, n) => { rows[k][n + 1] += Math.max(counter[i] - counter[i - 1], 0); });
	}
	return rows;
}

function growthPlot(panel, flow)
{
	const of = columnsOf(flow), width = 2 * INTERVAL;
	const curves = laneOf(panel.lane, of, flow);
	const title = `${panel.title} in each ${digits(width * 1000)} ms`;

	return plotOf({ ...panel, title }, panel.units[flow], {
		width, series: curves.map(curve => ({ name: curve.name, kind: "block", colour: colour(curve.colour) })),
		rows: growth(of.time_us, curves.map(({ values }) => values), width),
	});
}

// All flows together

const DASHES = [null, [6, 3], [2, 2], [8, 3, 2, 3]];
const FLOW_COLOURS = ["blue", "red", "green", "pink", "yellow", "sky"];

function sharesPlot(panel)
{
	const [unit] = panel.units;
	const flows = data.flows.filter(flow => flow.sends).map((flow, i) => ({
		name: `flow ${flow.flow}: ${endpoint(flow.remote, flow.rport)}`, kind: "line", colour: colour(FLOW_COLOURS[i % FLOW_COLOURS.length]),
		dashes: DASHES[Math.floor(i / FLOW_COLOURS.length) % DASHES.length] }));
	const rates = data.rate_bps.filter((_, i) => data.flows[i].sends);

	if (data.others.sending) {
		flows.push({ name: `${data.others.sending} others`, kind: "line", colour: colour("grey") });
		rates.push(data.total_bps.map((total, k) =>
			Math.max(total - data.rate_bps.reduce((sum, flow) => sum + flow[k], 0), 0)));
	}
	return plotOf(panel, unit, {
		series: flows,
		rows: data.total_bps.map((_, k) =>
			[Math.min((k + 0.5) * INTERVAL, END), ...rates.map(rate => rate[k] / unit.size)]),
	});
}

function jainPlot(panel)
{
	return plotOf(panel, null, {
		series: [{ name: "index", kind: "line", colour: colour("blue") }],
		rows: data.jain.map((value, k) => [Math.min((k + 0.5) * INTERVAL, END), value]),
	});
}

const PLOTS = { shares: sharesPlot, jain: jainPlot, curves: curvesPlot, states: statesPlot, growth: growthPlot };

// Time

// Shades where events were dropped, and where nobody watched.
function shadeMissing(context, area, graph)
{
	const shade = (intervals, name) => intervals.forEach((missing, k) => {
		if (!missing)
			return;
		const from = graph.toDomXCoord(k * INTERVAL), to = graph.toDomXCoord((k + 1) * INTERVAL);

		context.fillStyle = colour(name);
		context.fillRect(from, area.y, Math.max(to - from, 1), area.h);
	});

	context.globalAlpha = 0.2;
	shade(recording.drops, "red");
	shade(recording.unwatched_us, "grey");
	context.globalAlpha = 1;
}

function plots()
{
	return Object.values(report.plots);
}

function timeWindow()
{
	return plots()[0].xAxisRange();
}

function setTimeWindow(from, to)
{
	const whole = from <= 0 && to >= END;

	// The first plot moves the others along.
	plots()[0].updateOptions({ dateWindow: whole ? null : [Math.max(from, 0), Math.min(to, END)] });
}

function move(share)
{
	const [from, to] = timeWindow(), by = Math.max(-from, Math.min(END - to, share * (to - from)));

	setTimeWindow(from + by, to + by);
}

function zoomOut()
{
	const [from, to] = timeWindow(), more = (to - from) / 2;

	setTimeWindow(from - more, to + more);
}

// One time axis for all plots; one pointer for plots with the same rows.
function synchronize()
{
	const plotsOf = chosen => data.panels.filter(chosen).map(({ id }) => report.plots[id]).filter(Boolean);
	const ofFlow = plotsOf(({ lane, kind }) => lane && kind !== "growth");
	const ofAll = plotsOf(({ lane }) => !lane);

	if (plots().length > 1)
		synchronized.push(Dygraph.synchronize(plots(), { zoom: true, selection: false, range: false }));
	for (const same of [ofFlow, ofAll])
		if (same.length > 1)
			synchronized.push(Dygraph.synchronize(same, { zoom: false, selection: true }));
}

function draw()
{
	const ofAll = recording.flows_sending > 1;
	const before = plots().length ? timeWindow() : [0, END];

	synchronized.reverse().forEach(sync => sync.detach());
	synchronized = [];
	plots().forEach(graph => graph.destroy());
	byId("flow-plots").replaceChildren();
	byId("all-plots").replaceChildren();
	report.plots = {};
	byId("all-flows").hidden = !ofAll;
	for (const panel of data.panels.filter(({ lane }) => lane || ofAll)) {
		const lack = panel.lacks[panel.lane ? report.flow : 0], place = byId(panel.lane ? "flow-plots" : "all-plots");

		if (!lack)
			report.plots[panel.id] = makePlot(place, PLOTS[panel.kind](panel, report.flow), END, shadeMissing);
		else if (panel.kind !== "growth") // another panel of the lane says it
			place.append(element("p", { className: "note lack", textContent: `${panel.title}: ${lack}` }));
	}
	stack();
	fillColours();
	synchronize();
	setTimeWindow(...before);
}

function stack()
{
	report.plots.shares?.updateOptions({ stackedGraph: byId("stacked").checked });
}

// Words

function endpoint(address, port)
{
	return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}

function nameOf(flow)
{
	const profile = flow.profile && flow.profile !== "default" ? `, ${flow.profile}` : "";

	return `${flow.flow}: ${endpoint(flow.local, flow.lport)} > ${endpoint(flow.remote, flow.rport)} (${flow.instance}${profile})`;
}

function selectFlow(index)
{
	const flow = data.flows[index], width = data.series[index].interval_ns;

	report.flow = index;
	byId("flow").value = index;
	byId("flow-title").textContent = `Flow ${nameOf(flow)}`;
	byId("thinned").hidden = !width;
	byId("thinned").textContent = `${digits(columnsOf(index).time_us.length)} of ${digits(flow.events)} events are shown: ` +
		`in each ${digits(width / 1e6)} ms the first, the last, and those with the lowest and the highest value of each curve.`;
	for (const row of byId("table").tBodies[0].rows)
		row.classList.toggle("chosen", row.dataset.flow === String(index));
	draw();
}

function tell()
{
	const start = new Date(recording.start_ms);
	const others = data.others.flows ? `, of which the ${data.flows.length} largest have curves` : "";
	const silent = recording.flows_total - recording.flows_sending;
	const jain = recording.jain !== null && recording.flows_sending > 1 ?
		` Jain's index of the mean rates${silent ? " of those that send" : ""}: ${recording.jain.toFixed(3)}.` : "";

	document.title = `${recording.file} – bbrmon report`;
	byId("title").textContent = recording.file;
	byId("about").textContent = `From ${start.toISOString().replace("T", " ").replace("Z", " UTC")}, ` +
		`${digits(END)} s; ${recording.flows_total} ${recording.flows_total === 1 ? "flow" : "flows"}${others}.${jain}` +
		" Times are seconds from then on.";
	const stateless = recording.flows_without_state;
	const missing = [
		stateless && `${digits(stateless)} ${stateless === 1 ? "connection" : "connections"} without BBR state ` +
			"(not established yet, or closed already) are left out.",
		recording.drops_total && `${digits(recording.drops_total)} events were dropped; what happened then is missing ` +
			"here. The times when it was noticed are shaded red.",
		recording.unwatched_us.some(Boolean) && "Grey: nobody watched.",
	].filter(Boolean);
	byId("silent").hidden = !silent;
	byId("silent").textContent = silent === 1 ? "One flow never sent payload and is left out." :
		`${silent} flows never sent payload and are left out.`;
	byId("drops").hidden = !missing.length;
	byId("drops").textContent = missing.join(" ");
}

// The table

function bracketed(value, known)
{
	return known ? value : `(${value})`;
}

function share(part, whole)
{
	return whole ? `${digits(100 * part / whole)}` : "–";
}

function per(value, unit)
{
	return value === null || value === undefined ? "–" : digits(value / unit);
}

function modesOf(flow)
{
	return data.curves[flow.algorithm].find(({ values }) => values === "mode").names;
}

// Only the flows of an algorithm that looks for something have a count of it.
const sum = key => flows => flows.reduce((total, flow) => total + (flow[key] ?? 0), 0);
// Name, unit, value of a flow, and value of all flows where that means something.
const TABLE = [
	["flow", "", flow => nameOf(flow), () => "all"],
	["start", "s", flow => bracketed((flow.start_us / 1e6).toFixed(3), flow.start_seen)],
	["end", "s", flow => bracketed((flow.end_us / 1e6).toFixed(3), flow.end_seen)],
	["bytes", "MB", flow => per(flow.bytes_acked, 1e6), flows => per(sum("bytes_acked")(flows), 1e6)],
	["mean rate", "Mbit/s", flow => per(flow.mean_bps, 1e6)],
	["RTT", "median, ms", flow => per(flow.rtt_median_us, 1e3)],
	["", "p95, ms", flow => per(flow.rtt_p95_us, 1e3)],
	["", "p99, ms", flow => per(flow.rtt_p99_us, 1e3)],
	["min_rtt", "lowest, ms", flow => per(flow.min_rtt_us, 1e3)],
	["retransmitted", "kB", flow => per(flow.bytes_retrans, 1e3), flows => per(sum("bytes_retrans")(flows), 1e3)],
	["", "% of sent", flow => share(flow.bytes_retrans, flow.bytes_sent),
		flows => share(sum("bytes_retrans")(flows), sum("bytes_sent")(flows))],
	["lost", "packets", flow => digits(flow.lost), flows => digits(sum("lost")(flows))],
	...recording.modes.map(mode => [mode, "s", flow => per(flow.mode_us[modesOf(flow).indexOf(mode)], 1e6)]),
	["RTOs", "", flow => digits(flow.rtos), flows => digits(sum("rtos")(flows))],
	...data.findings.map(key => [key, "found", flow => digits(flow[key]), flows => digits(sum(key)(flows))]),
	["app-limited", "%", flow => (flow.app_limited === null ? "–" : share(flow.app_limited, flow.samples))],
	["events", "", flow => digits(flow.events), flows => digits(sum("events")(flows))],
	["dropped", "", () => "", () => digits(recording.drops_total)],
];

function tableRow(cells)
{
	return element("tr", {}, ...cells.map((text, i) =>
		element("td", { textContent: text, className: i ? "" : "text" })));
}

function othersCells()
{
	return TABLE.map(([name, , , all], i) => {
		if (!i)
			return `${data.others.flows} others`;
		return all && name !== "dropped" ? all([data.others]) : "";
	});
}

function fillTable()
{
	const head = element("tr", {}, ...TABLE.map(([name, unit], i) => element("th",
		{ className: i ? "" : "text", scope: "col" }, name, element("small", { textContent: unit }))));
	const rows = data.flows.map((flow, i) => {
		const row = tableRow(TABLE.map(([, , cell]) => cell(flow)));

		row.dataset.flow = i;
		row.addEventListener("click", () => selectFlow(i));
		return row;
	});
	const all = data.others.flows ? [...data.flows, data.others] : data.flows;

	if (data.others.flows)
		rows.push(tableRow(othersCells()));
	byId("table").replaceChildren(element("thead", {}, head), element("tbody", {}, ...rows),
		element("tfoot", {}, tableRow(TABLE.map(([, , , cell]) => (cell ? cell(all) : "")))));
}

// What the colours of the strip mean.
function fillColours()
{
	const curves = laneOf("state", columnsOf(report.flow), report.flow);
	const block = (name, text) => element("span", {}, swatch({ colour: colour(name), kind: "block" }), text);
	const pale = curves.flatMap(({ names, colours }) => names.filter((_, i) => colours[i] === "pale"));

	byId("plot-state").append(element("div", { className: "colours" },
		...curves.map(({ name, names, colours }) => element("div", {}, `${name}: `,
			...names.map((value, i) => (colours[i] === "pale" ? "" : block(colours[i], value))))),
		element("div", {}, block("pale", `normal: ${pale.join(", ")}`))));
}

function begin()
{
	byId("flow").append(...data.flows.map((flow, i) => element("option", { value: i, textContent: nameOf(flow) })));
	byId("flow").addEventListener("change", event => selectFlow(Number(event.target.value)));
	byId("this-flow").addEventListener("click", () => {
		const { start_us: from, end_us: to } = data.flows[report.flow];

		setTimeWindow(from / 1e6, Math.max(to / 1e6, from / 1e6 + 1e-3));
	});
	byId("everything").addEventListener("click", () => setTimeWindow(0, END));
	byId("zoom-out").addEventListener("click", zoomOut);
	byId("earlier").addEventListener("click", () => move(-0.5));
	byId("later").addEventListener("click", () => move(0.5));
	byId("stacked").addEventListener("change", stack);
	darkPage.addEventListener("change", draw);
	tell();
	fillTable();
	const largest = data.flows.reduce((best, flow, i) =>
		(flow.bytes_acked > data.flows[best].bytes_acked ? i : best), 0);
	selectFlow(largest);
}

begin();
