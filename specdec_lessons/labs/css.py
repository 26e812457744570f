"""The style sheet of the labs: JupyterLab's theme, and the colours of the six states from figures.style."""

from specdec_lessons.figures.style import STATES

COLOURS = {  # of curves and text: in the light theme and on paper, in the dark theme
    "curve": ("#1f3a5f", "#9ecbff"),
    "guide": ("#6b7280", "#a0a7b0"),
    "now": ("#c2410c", "#ff9a57"),
    "best": ("#00795a", "#3fd3a5"),
    "other": ("#a3487f", "#f0a6d2"),
    "error": ("#b3261e", "#ff9d94"),
}
_LIGHT, _DARK = ("\n".join(f"  --sdl-{name}: {pair[i]};" for name, pair in COLOURS.items()) for i in (0, 1))
_STATE_COLOURS = "\n".join(f"  --sdl-{name}: {state.colour};" for name, state in STATES.items())

STYLE = f"""<style>
.sdl {{
{_STATE_COLOURS}
  --sdl-ink: var(--jp-ui-font-color1, #1f2328);
  --sdl-muted: var(--jp-ui-font-color2, #5f6670);
  --sdl-rule: var(--jp-border-color2, #dadde1);
  --sdl-panel: var(--jp-layout-color1, #ffffff);
{_LIGHT}
  overflow: visible;
}}
body[data-jp-theme-light="false"] .sdl {{
  --sdl-muted: #b4b4b4;
{_DARK}
}}
.sdl .widget-label {{ color: var(--sdl-ink); }}
.sdl .widget-html, .sdl .widget-html-content {{ overflow: visible; margin: 0; line-height: 1.45;
  font-size: var(--jp-content-font-size1, 14px); color: var(--sdl-ink); }}
.sdl .widget-html-content {{ width: 100%; }}
.sdl dl.sdl-numbers {{ display: flex; flex-wrap: wrap; gap: 4px 26px; margin: 0 0 4px; padding: 0; }}
.sdl dl.sdl-numbers > div {{ display: flex; flex-direction: column-reverse; margin: 0; }}
.sdl dl.sdl-numbers dt {{ font-size: 12px; font-weight: normal; color: var(--sdl-muted); margin: 0;
  padding: 0; float: none;
  width: auto; line-height: 1.3; text-align: left; }}
.sdl dl.sdl-numbers dd {{ font-size: 20px; font-weight: 600; font-variant-numeric: tabular-nums; margin:
  0; padding: 0;
  float: none; width: auto; line-height: 1.25; }}
.sdl dl.sdl-numbers dd small {{ font-size: 13px; font-weight: normal; color: var(--sdl-muted);
  margin-left: 2px; }}
.sdl p.sdl-summary {{ margin: 0; font-size: 14px; line-height: 1.4; }}
.sdl p.sdl-error {{ margin: 0; color: var(--sdl-error); font-size: 13px; line-height: 1.4; white-space:
  nowrap; overflow: hidden;
  text-overflow: ellipsis; }}
.sdl .sdl-caption {{ font-size: 13px; line-height: 1.35; }}
.sdl .sdl-caption b {{ font-weight: 600; white-space: nowrap; }}
.sdl .sdl-key {{ white-space: nowrap; color: var(--sdl-muted); margin-left: 10px; }}
.sdl .sdl-swatch {{ font-weight: 700; }}
.sdl .widget-toggle-buttons {{ display: flex; flex-flow: row nowrap; align-items: center; gap: 6px; }}
.sdl .sdl-plot {{ position: relative; height: 100%; font-size: 12px; line-height: 1.2; }}
.sdl .widget-html-content:has(> .sdl-plot) {{ height: 100%; }}
.sdl .sdl-area {{ position: absolute; inset: 10px 16px 42px 54px; border: 1px solid var(--sdl-guide);
  border-width: 0 0 1px 1px; }}
.sdl .sdl-area > svg {{ position: absolute; inset: 0; width: 100%; height: 100%; overflow: hidden; }}
.sdl .sdl-area > svg > path {{ fill: none; vector-effect: non-scaling-stroke; stroke-linejoin: round; }}
.sdl .sdl-area > svg > path.sdl-gridlines {{ stroke: var(--sdl-rule); }}
.sdl .sdl-area > svg > path.sdl-dashed {{ stroke-dasharray: 7 5; }}
.sdl .sdl-area > svg > path.sdl-dotted {{ stroke-dasharray: 2 4; }}
.sdl .sdl-area > svg > path.sdl-dots {{ stroke-width: 6; stroke-linecap: round; }}
.sdl .sdl-point {{ position: absolute; transform: translate(-50%, 50%); border-radius: 50%;
  box-shadow: 0 0 0 1px var(--sdl-panel); }}
.sdl .sdl-point.sdl-square {{ border-radius: 0; }}
.sdl .sdl-point.sdl-diamond {{ border-radius: 0; transform: translate(-50%, 50%) rotate(45deg); }}
.sdl .sdl-xtick {{ position: absolute; top: 100%; padding-top: 5px; transform: translateX(-50%); }}
.sdl .sdl-ytick {{ position: absolute; right: 100%; padding-right: 7px; transform: translateY(50%); }}
.sdl .sdl-xlabel {{ position: absolute; left: 54px; right: 16px; bottom: 4px; text-align: center;
  color: var(--sdl-muted); }}
.sdl .sdl-ylabel {{ position: absolute; left: 0; top: 10px; bottom: 42px; writing-mode: vertical-rl;
  transform: rotate(180deg); text-align: center; color: var(--sdl-muted); white-space: nowrap; }}
.sdl .sdl-sr {{ position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path:
  inset(50%);
  white-space: nowrap; }}
.sdl :focus-visible {{ outline: 2px solid var(--jp-brand-color1, #1976d2); outline-offset: 2px; }}

.sdl .sdl-typed {{ position: relative; }}
.sdl .sdl-typed > .widget-label {{ position: absolute; width: 1px; height: 1px; min-width: 0; margin: -1px;
  overflow: hidden; clip-path: inset(50%); }}
.sdl .sdl-hidden {{ display: none !important; }}
.sdl .sdl-less {{ display: none; }}

.sdl .sdl-replay {{ font-size: 14px; display: flex; flex-direction: column; height: 260px; }}
.sdl .sdl-replay.sdl-still {{ height: 300px; }}
.sdl .sdl-allrounds {{ flex: 1 1 0; min-height: 0; overflow-y: auto; }}
.sdl .sdl-phase {{ margin: 0 0 6px; font-size: 14px; min-height: 1.4em; }}
.sdl .sdl-phase b {{ font-weight: 600; }}
.sdl .sdl-row {{ display: flex; align-items: flex-start; gap: 10px; }}
.sdl .sdl-row > .sdl-rowname {{ flex: 0 0 84px; font-size: 12px; line-height: 1.3; color:
  var(--sdl-muted); padding-top: 8px; }}
.sdl .sdl-chips {{ list-style: none; display: flex; flex-wrap: wrap; gap: 5px; margin: 0; padding: 3px;
  min-height: 46px;
  border: 1px dashed transparent; border-radius: 8px; align-content: flex-start; }}
.sdl .sdl-chips.sdl-checking {{ border-color: var(--sdl-correction); }}
.sdl .sdl-chip {{ display: inline-flex; flex-direction: column; align-items: center; min-width: 40px;
  box-sizing: border-box;
  padding: 1px 7px 2px; border-radius: 7px; border: 2px solid; line-height: 1.25; margin: 0; background:
  var(--sdl-panel);
  color: var(--sdl-ink); }}
.sdl .sdl-chip i {{ font-style: normal; font-weight: 700; font-size: 13px; line-height: 1.2; }}
.sdl .sdl-chip.sdl-waiting {{ border-style: dotted; border-color: var(--sdl-rule); color: transparent; }}
.sdl .sdl-s-drafted {{ border-color: var(--sdl-drafted); }}
.sdl .sdl-s-accepted {{ border-color: var(--sdl-accepted); background: var(--sdl-accepted); color:
  {STATES["accepted"].ink}; }}
.sdl .sdl-s-rejected {{ border-color: var(--sdl-rejected); background: var(--sdl-rejected); color:
  {STATES["rejected"].ink}; }}
.sdl .sdl-s-rejected span {{ text-decoration: line-through; }}
.sdl .sdl-s-discarded {{ border-color: var(--sdl-discarded); border-style: dashed; }}
.sdl .sdl-s-discarded {{ background: repeating-linear-gradient(135deg, transparent 0 5px,
  color-mix(in srgb, var(--sdl-discarded) 45%, transparent) 5px 6.5px); }}
.sdl .sdl-chip.sdl-s-discarded > * {{ background: var(--sdl-panel); border-radius: 3px; padding: 0 3px;
  line-height: 1.1; }}
.sdl .sdl-s-correction {{ border-color: var(--sdl-correction); background: var(--sdl-correction);
  color: {STATES["correction"].ink}; }}
.sdl .sdl-s-bonus {{ border-color: var(--sdl-bonus); background: var(--sdl-bonus); color:
  {STATES["bonus"].ink}; }}
.sdl .sdl-both {{ flex: 1 1 0; min-height: 0; display: grid; grid-template-columns: 1fr 1fr; gap: 0 24px;
  margin-top: 6px; }}
.sdl .sdl-side {{ display: flex; flex-direction: column; min-width: 0; min-height: 0; }}
.sdl .sdl-sidename {{ display: flex; justify-content: space-between; gap: 10px; margin: 0 0 2px;
  font-size: 12px; line-height: 1.4; white-space: nowrap; }}
.sdl .sdl-sidename > span {{ color: var(--sdl-muted); overflow: hidden; text-overflow: ellipsis; }}
.sdl .sdl-sidename > strong {{ font-variant-numeric: tabular-nums; }}
.sdl .sdl-track {{ flex: none; height: 8px; background: var(--sdl-rule); border-radius: 4px;
  overflow: hidden; }}
.sdl .sdl-fill {{ height: 100%; background: var(--sdl-curve); border-radius: 4px; }}
.sdl .sdl-fill.sdl-plain {{ background: repeating-linear-gradient(90deg, var(--sdl-guide) 0 6px,
  transparent 6px 8px); }}
.sdl .sdl-text {{ flex: 1 1 0; min-height: 0; display: flex; flex-direction: column-reverse; overflow-y: auto;
  padding: 3px; }}
.sdl .sdl-done {{ font-weight: 600; }}
.sdl .sdl-here {{ font-size: 11px; white-space: nowrap; border-left: 2px solid var(--sdl-now);
  padding: 1px 4px;
  color: var(--sdl-now); }}
.sdl .sdl-missing {{ color: var(--sdl-muted); text-decoration: underline dotted;
  text-underline-offset: 4px; }}
.sdl p.sdl-same {{ margin: 0 0 3px; font-size: 13px; line-height: 1.4; }}
.sdl .sdl-text p {{ margin: 0 0 auto; line-height: 1.85; }}
.sdl .sdl-text .sdl-prompt {{ color: var(--sdl-muted); }}
.sdl .sdl-word {{ white-space: nowrap; border-bottom: 3px solid; padding-bottom: 1px; margin-right: 5px; }}
.sdl .sdl-word sup {{ font-size: 10px; font-weight: 700; line-height: 0; margin-left: 1px; }}
.sdl .sdl-word.sdl-new {{ font-weight: 600; }}
.sdl .sdl-u-accepted {{ border-color: var(--sdl-accepted); }}
.sdl .sdl-u-correction {{ border-color: var(--sdl-correction); }}
.sdl .sdl-u-bonus {{ border-color: var(--sdl-bonus); }}
.sdl .sdl-legend {{ display: flex; flex-wrap: wrap; gap: 2px 14px; margin: 0; padding: 0; list-style:
  none; font-size: 12px; }}
.sdl .sdl-legend li {{ display: inline-flex; align-items: center; gap: 4px; margin: 0; }}
.sdl .sdl-legend i {{ font-style: normal; font-weight: 700; display: inline-block; width: 18px;
  text-align: center;
  border: 1.5px solid; border-radius: 4px; line-height: 1.3; box-sizing: border-box; }}
.sdl table.sdl-tokens {{ border-collapse: collapse; font-size: 13px; margin: 0; }}
.sdl table.sdl-tokens th, .sdl table.sdl-tokens td {{ padding: 1px 10px 1px 0; text-align: right;
  font-weight: normal;
  font-variant-numeric: tabular-nums; background: transparent; border: none; color: var(--sdl-ink); }}
.sdl table.sdl-tokens thead th {{ color: var(--sdl-muted); font-size: 12px; }}
.sdl table.sdl-tokens th:first-child {{ text-align: left; }}
.sdl .sdl-bars {{ position: relative; display: flex; justify-content: space-around; gap: 6px; height: 150px;
  margin: 10px 8px 42px 34px; }}
.sdl .sdl-grid {{ position: absolute; inset: 0; }}
.sdl .sdl-gridline {{ position: absolute; left: 0; right: 0; border-top: 1px solid var(--sdl-rule);
  height: 0; }}
.sdl .sdl-gridline span {{ position: absolute; left: -34px; top: -9px; width: 28px; text-align: right;
  font-size: 12px; }}
.sdl .sdl-pair {{ position: relative; flex: 0 1 84px; display: flex; gap: 4px; align-items: flex-end;
  justify-content: center; }}
.sdl .sdl-bar {{ position: relative; flex: 0 1 34px; height: 100%; display: flex; flex-direction: column;
  justify-content: flex-end; }}
.sdl .sdl-p-surplus b, .sdl .sdl-barkey .sdl-p-surplus b {{ background: var(--sdl-rejected);
  border-radius: 3px; padding: 0 2px; }}
.sdl .sdl-part b {{ font-weight: 700; }}
.sdl .sdl-part {{ overflow: hidden; text-align: center; font-size: 12px; font-weight: 700; line-height:
  15px; flex: none; }}
.sdl .sdl-p-agreed {{ background: var(--sdl-accepted); color: {STATES["accepted"].ink}; }}
.sdl .sdl-p-deficit {{ background: var(--sdl-correction); color: {STATES["correction"].ink}; }}
.sdl .sdl-p-surplus {{ color: {STATES["rejected"].ink}; background: repeating-linear-gradient(135deg,
  var(--sdl-rejected) 0 5px,
  color-mix(in srgb, var(--sdl-rejected) 55%, white) 5px 8px); }}
.sdl .sdl-barname {{ position: absolute; top: 100%; left: 0; right: 0; text-align: center; font-size:
  12px; line-height: 18px;
  color: var(--sdl-muted); }}
.sdl .sdl-barword {{ position: absolute; top: calc(100% + 16px); left: -8px; right: -8px; text-align:
  center; line-height: 20px; }}
.sdl .sdl-drawn {{ position: absolute; left: -5px; right: -5px; height: 0; border-top: 3px solid
  var(--sdl-ink);
  box-shadow: 0 0 0 1px var(--sdl-panel); }}
.sdl .sdl-barkey i {{ border: none; }}
.sdl .sdl-legend i.sdl-drawnkey {{ border: none; }}
@media (prefers-reduced-motion: reduce) {{
  .sdl, .sdl * {{ transition: none !important; animation: none !important; }}
  .sdl .sdl-motion, .sdl .sdl-auto .sdl-byhand {{ display: none !important; }}
  .sdl .sdl-auto .sdl-less {{ display: block; }}
}}
</style>"""
