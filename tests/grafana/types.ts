// What a dashboard of ours must be: Grafana's own types, made stricter where they say "anything".
import type { Dashboard, DataQuery, FieldConfig, Panel, RowPanel, VariableModel } from "@grafana/schema";
import type * as Bars from "@grafana/schema/dist/esm/raw/composable/bargauge/panelcfg/x/BarGaugePanelCfg_types.gen";
import type * as Stat from "@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen";
import type * as Heat from "@grafana/schema/dist/esm/raw/composable/statushistory/panelcfg/x/StatusHistoryPanelCfg_types.gen";
import type * as Table from "@grafana/schema/dist/esm/raw/composable/table/panelcfg/x/TablePanelCfg_types.gen";
import type * as Lines from "@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen";

// An enum of strings takes no string literal; its values as plain strings do.
type Plain<T> = T extends string
  ? `${T}`
  : T extends readonly (infer Item)[]
    ? Plain<Item>[]
    : T extends object
      ? { [Key in keyof T]: Plain<T[Key]> }
      : T;

type Must<T, Key extends keyof T> = Omit<T, Key> & { [K in Key]-?: NonNullable<T[K]> };

// The schema package no longer holds the types of Prometheus's questions.
interface Question extends DataQuery {
  expr: string;
  legendFormat: string;
  editorMode: "code" | "builder";
  format: "time_series" | "table" | "heatmap";
  instant: boolean;
  range: boolean;
}

interface Shape<Type extends string, Options, Custom>
  extends Omit<
    Must<Panel, "id" | "title" | "description" | "gridPos" | "datasource">,
    "type" | "options" | "fieldConfig" | "targets"
  > {
  type: Type;
  options: Options;
  targets: [Question, ...Question[]];
  fieldConfig: {
    defaults: Omit<Must<FieldConfig, "unit" | "thresholds" | "noValue" | "color">, "custom"> & {
      custom: Custom;
    };
    overrides: { matcher: { id: string; options?: unknown }; properties: { id: string; value?: unknown }[] }[];
  };
}

type Nothing = Record<string, never>;
type Shown =
  | Shape<"timeseries", Lines.Options, Lines.FieldConfig>
  | Shape<"stat", Stat.Options, Nothing>
  | Shape<"bargauge", Bars.Options, Nothing>
  | Shape<"table", Table.Options, Table.FieldConfig>
  | Shape<"status-history", Heat.Options, Heat.FieldConfig>;

interface Whole extends Omit<Must<Dashboard, "uid" | "title" | "description" | "links">, "panels" | "templating"> {
  panels: (Shown | RowPanel)[];
  templating: { list: VariableModel[] };
}

export type Board = Plain<Whole>;
