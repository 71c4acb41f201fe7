import "uplot/dist/uPlot.min.css";
import "./style/base.css";
import "./style/frame.css";
import "./style/finder.css";
import "./style/controls.css";
import "./style/tables.css";
import "./style/parts.css";
import "./style/charts.css";
import "./style/pages.css";
import { render } from "preact";
import { App } from "./app";
import { start } from "./lib/live";
import { startTheme } from "./lib/theme";
import { follow } from "./lib/url";

startTheme();
follow();
void start();
render(<App />, document.getElementById("page")!);
