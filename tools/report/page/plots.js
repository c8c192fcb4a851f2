// SPDX-License-Identifier: GPL-2.0-only
// Plots on one time axis: what a plot is, how it looks, what it shows at the pointer.

const darkPage = window.matchMedia("(prefers-color-scheme: dark)");

function colour(name)
{
	return data.colours[name][darkPage.matches ? "dark" : "light"];
}

function element(name, properties = {}, ...children)
{
	const made = Object.assign(document.createElement(name), properties);

	made.append(...children);
	return made;
}

// Three or four digits, as people read them.
function digits(value)
{
	if (value === null || value === undefined || Number.isNaN(value))
		return "–";
	if (value === 0 || Math.abs(value) >= 1000)
		return Math.round(value).toLocaleString("en");
	return String(Number(value.toPrecision(4)));
}

// The name of a value, or its digits.
function show(series, value)
{
	if (series.names && value !== null)
		return series.names[value] ?? "unknown";
	return digits(value);
}

// The vertical line at the pointer, and the values there in the legend.
class Cursor {
	constructor(plot)
	{
		this.plot = plot;
		this.line = element("canvas");
	}

	activate(graph)
	{
		this.graph = graph;
		graph.graphDiv.append(this.line);
		return { select: event => this.select(event), deselect: () => this.deselect() };
	}

	select(event)
	{
		const width = this.graph.width_, height = this.graph.height_;
		const point = event.selectedPoints[0];

		this.deselect();
		if (!point)
			return;
		// The row also has the values of hidden curves, whose points are not drawn.
		this.plot.series.forEach((series, i) => {
			const value = this.graph.getValue(event.selectedRow, i + 1);

			series.readout.textContent = show(series, value);
		});
		document.getElementById("pointer").textContent = `${event.selectedX.toFixed(6)} s`;
		this.line.width = width;
		this.line.height = height;
		const context = this.line.getContext("2d");
		context.strokeStyle = colour("grey");
		context.beginPath();
		context.moveTo(Math.round(point.canvasx) + 0.5, 0);
		context.lineTo(Math.round(point.canvasx) + 0.5, height);
		context.stroke();
	}

	deselect()
	{
		this.plot.series.forEach(series => { series.readout.textContent = ""; });
		this.line.width = this.line.width;
	}

	destroy()
	{
		this.line.remove();
	}
}

function swatch(series)
{
	const mark = element("span", { className: `swatch ${series.kind ?? ""}` });

	mark.style.background = series.colour;
	return mark;
}

function legend(plot, graph)
{
	return plot.series.map((series, i) => {
		const box = element("input", { type: "checkbox", checked: true });

		series.readout = element("span", { className: "value" });
		box.addEventListener("change", () => graph().setVisibility(i, box.checked));
		return element("label", {}, box, ...(series.colour ? [swatch(series)] : []),
			element("span", { className: "name", textContent: series.name }), series.readout);
	});
}

function isMissing(point)
{
	return point.yval === null || Number.isNaN(point.yval);
}

// Blocks of colour for numbered states, one lane a series. A state lasts until the next row.
function drawStrip(plot)
{
	return drawing => {
		const lane = drawing.plotArea.h / plot.series.length;
		const number = Number(drawing.setName);
		const { colours } = plot.series[number];
		const points = drawing.points.filter(point => !isMissing(point));

		for (let i = 0, next; i < points.length - 1; i = next) {
			for (next = i + 1; next < points.length - 1 && points[next].yval === points[i].yval;)
				next++;
			drawing.drawingContext.fillStyle = colour(colours[points[i].yval] ?? "grey");
			drawing.drawingContext.fillRect(points[i].canvasx,
				drawing.plotArea.y + number * lane + 2,
				Math.max(points[next].canvasx - points[i].canvasx, 1), lane - 4);
		}
	};
}

// A bar for each row, as wide as the rows are apart. The series share it.
function drawBars(plot)
{
	return drawing => {
		const { graph, plotArea } = { graph: drawing.dygraph, plotArea: drawing.plotArea };
		const wide = graph.toDomXCoord(plot.width) - graph.toDomXCoord(0);
		const bar = Math.max(wide * 0.8 / plot.series.length, 1);
		const zero = graph.toDomYCoord(0);
		const number = Number(drawing.setName);

		drawing.drawingContext.fillStyle = drawing.color;
		for (const point of drawing.points) {
			if (!point.yval)
				continue;
			drawing.drawingContext.fillRect(point.canvasx - wide * 0.4 + number * bar, point.canvasy,
				bar, Math.min(zero, plotArea.y + plotArea.h) - point.canvasy);
		}
	};
}

function seriesOptions(series)
{
	const look = {
		points: { strokeWidth: 0, drawPoints: true, pointSize: 1.3 },
		step: { stepPlot: true, strokeWidth: 1.6 },
		line: { strokeWidth: 1.2 },
	}[series.kind] ?? {};

	return { color: series.colour, strokePattern: series.dashes ?? null, ...look };
}

function timeLabel(time, graph)
{
	const [from, to] = graph.xAxisRange();
	const places = Math.max(0, Math.min(6, 1 - Math.floor(Math.log10(Math.max(to - from, 1e-6) / 2))));

	return Number(time.toFixed(places)).toString();
}

// Names of the lanes, each in the middle of its lane, whatever the range of the values. dygraphs takes a label for HTML.
function laneTicks(plot)
{
	return (from, to) => plot.series.map((series, i) => (
		{ v: from + (to - from) * (plot.series.length - i - 0.5) / plot.series.length,
			label: element("span", { textContent: series.name }).innerHTML }));
}

// The highest value of a curve that can be seen. A value lasts until the next row.
function highestInSight(plot, graph)
{
	const [from, to] = graph.xAxisRange(), visible = graph.visibility();

	return plot.rows.reduce((highest, [time, ...values], row) => {
		const until = row + 1 < plot.rows.length ? plot.rows[row + 1][0] : time;

		return time > to || until < from ? highest : Math.max(highest, ...values.filter((_, i) => visible[i]));
	}, 0);
}

// For a plot that is cut off at `top` to be readable, while there is something above: a button that says so, and shows
// all. Otherwise the plot is as high as what can be seen, or as the user chose with the mouse.
function cutControl(plot, graph)
{
	const button = element("button", { type: "button", className: "cut" });
	let showsAll = false, range = null;

	button.addEventListener("click", () => {
		showsAll = !showsAll;
		plot.drawn();
	});
	plot.drawn = () => {
		const isChosen = graph().isZoomed("y") && String(graph().yAxisRange()) !== String(range);
		const isHigher = highestInSight(plot, graph()) > plot.top;
		const wanted = isHigher && !showsAll ? [0, plot.top] : null;

		button.hidden = !isHigher;
		button.textContent = `cut off above ${digits(plot.top)}${showsAll ? "" : ": show all"}`;
		if (isChosen || String(range) === String(wanted) && graph().isZoomed("y") === Boolean(wanted))
			return;
		range = wanted;
		graph().updateOptions({ valueRange: range });
	};
	return button;
}

// Adds a plot { id, title, series: [{ name, colour, kind }], rows, ... } at the end of `place`.
function makePlot(place, plot, end, shade)
{
	const area = element("div", { className: `area ${plot.className ?? ""}` });
	let graph = null;
	const head = element("div", { className: "head" },
		element("h3", { textContent: plot.title }),
		element("div", { className: "legend" }, ...legend(plot, () => graph)),
		...(plot.top ? [cutControl(plot, () => graph)] : []));
	place.append(element("div", { className: "plot", id: `plot-${plot.id}` }, head, area));

	// Every plot has the same extent, so that all can share one time axis.
	const none = plot.series.map(() => null);
	const rows = [[0, ...none], ...plot.rows, [end, ...none]];

	graph = new Dygraph(area, rows, {
		// Numbers instead of names: two curves may have one name, and dygraphs has words of its own.
		labels: ["time", ...plot.series.keys()].map(String),
		series: Object.fromEntries(plot.series.map((series, i) => [i, seriesOptions(series)])),
		legend: "never",
		plugins: [new Cursor(plot)],
		connectSeparatedPoints: false,
		includeZero: plot.lanes === undefined,
		drawCallback: (drawn, isFirst) => {
			if (!isFirst)
				plot.drawn?.();
		},
		stackedGraph: false,
		plotter: plot.lanes ? drawStrip(plot) : plot.width ? drawBars(plot) :
			[Dygraph.Plotters.fillPlotter, Dygraph.Plotters.linePlotter],
		highlightCircleSize: plot.lanes || plot.width ? 0 : 3,
		underlayCallback: shade,
		axisLineColor: colour("pale"),
		gridLineColor: colour("pale"),
		gridLineWidth: 0.5,
		axes: {
			x: { axisLabelFormatter: (time, granularity, options, graph_) => timeLabel(time, graph_),
				pixelsPerLabel: 80 },
			y: { axisLabelWidth: 58, axisLabelFormatter: digits, pixelsPerLabel: 30,
				drawGrid: !plot.lanes,
				...(plot.lanes ? { ticker: laneTicks(plot) } : {}) },
		},
	});
	plot.drawn?.();
	return graph;
}
