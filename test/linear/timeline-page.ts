/** Style and behaviour of the timeline's page; plain text, since the page has no dependencies. */

export const PAGE_STYLE = `
body { font: 14px/1.4 system-ui, sans-serif; margin: 1rem; color: #222; background: #fff; }
h1 { font-size: 1.2rem; }
ol { max-height: 14rem; overflow: auto; padding-left: 2.5rem; }
li { cursor: pointer; }
li:hover { background: #fee; }
.picture { display: flex; border: 1px solid #ccc; overflow-y: auto; max-height: 80vh; align-items: flex-start; }
#labels { flex: none; }
#picture { flex: 1; min-width: 0; cursor: grab; user-select: none; }
.lane { font-size: 11px; fill: #555; }
.rule { stroke: #eee; }
.note line { stroke: #b58900; stroke-dasharray: 4 3; vector-effect: non-scaling-stroke; }
.put { fill: #4477aa; background: #4477aa; color: #fff; }
.get { fill: #66aa88; background: #66aa88; color: #fff; }
.stale-get { fill: #bbbbbb; background: #bbbbbb; }
.unknown { fill-opacity: .35; stroke: #4477aa; stroke-dasharray: 3 2; }
.refused { fill: #eeeeee; background: #eeeeee; stroke: #aaa; }
.violating { fill: #cc2222; background: #cc2222; color: #fff; stroke: #660000; stroke-width: 2; }
.op { vector-effect: non-scaling-stroke; }
.legend span { padding: 0 .5em; border-radius: 3px; }
pre { min-height: 4em; background: #f6f6f6; padding: .5em; white-space: pre-wrap; }
`;

export const PAGE_SCRIPT = `
"use strict";
const picture = document.getElementById("picture");
const detail = document.getElementById("detail");
const whole = { x: 0, width: Number(picture.dataset.width) };
const height = Number(picture.dataset.height);
let view = { ...whole };
const draw = () => picture.setAttribute("viewBox", [view.x, 0, view.width, height].join(" "));
const toPicture = (event) => {
  const box = picture.getBoundingClientRect();
  return view.x + ((event.clientX - box.left) / box.width) * view.width;
};
picture.addEventListener("wheel", (event) => {
  event.preventDefault();
  const at = toPicture(event);
  const width = Math.min(whole.width, Math.max(0.05, view.width * (event.deltaY > 0 ? 1.25 : 0.8)));
  view = { x: at - ((at - view.x) / view.width) * width, width };
  draw();
}, { passive: false });
let drag;
picture.addEventListener("pointerdown", (event) => { drag = { at: event.clientX, x: view.x }; });
addEventListener("pointerup", () => { drag = undefined; });
addEventListener("pointermove", (event) => {
  if (!drag) return;
  view.x = drag.x - ((event.clientX - drag.at) / picture.getBoundingClientRect().width) * view.width;
  draw();
});
picture.addEventListener("dblclick", () => { view = { ...whole }; draw(); });
picture.addEventListener("pointerover", (event) => {
  const title = event.target.querySelector && event.target.querySelector("title");
  if (title) detail.textContent = title.textContent;
});
for (const item of document.querySelectorAll("li")) item.addEventListener("click", () => {
  const bars = item.dataset.operations.split(" ").flatMap((id) => [...document.querySelectorAll('[data-id="' + id + '"]')]);
  if (bars.length === 0) return;
  const left = Math.min(...bars.map((bar) => bar.x.baseVal.value));
  const right = Math.max(...bars.map((bar) => bar.x.baseVal.value + bar.width.baseVal.value));
  const width = Math.min(whole.width, Math.max((right - left) * 1.5, 1));
  view = { x: (left + right - width) / 2, width };
  draw();
  detail.textContent = bars.map((bar) => bar.querySelector("title").textContent).join("\\n\\n");
});
`;
