// Style of the status page. Its hash is part of the Content-Security-Policy.

const COLOURS = `
:root { color-scheme: light dark; --page: #f4f5f7; --card: #fff; --text: #1b2129; --dim: #57606a; --line: #d5dae0;
  --good: #116329; --good-back: #dcf5e3; --bad: #a40e26; --bad-back: #ffe3e3; --warn: #7d4e00; --warn-back: #fff1c9;
  --link: #0550ae; --chip: #eaedf1; --focus: #0550ae; --shadow: 0 1px 2px rgb(27 33 41 / 8%); }
@media (prefers-color-scheme: dark) {
  :root { --page: #0e1217; --card: #171c23; --text: #e6eaef; --dim: #9aa4af; --line: #2e353e;
    --good: #6fdd8b; --good-back: #12301c; --bad: #ff9d96; --bad-back: #3d1519; --warn: #f0c25a; --warn-back: #36290c;
    --link: #82b8ff; --chip: #262d36; --focus: #82b8ff; --shadow: none; }
}`

const BASE = `
* { box-sizing: border-box; }
html { scroll-padding-top: 4.5rem; }
body { background: var(--page); color: var(--text); font: 15px/1.5 system-ui, sans-serif; margin: 0; }
a { color: var(--link); text-decoration: none; overflow-wrap: anywhere; } a:hover { text-decoration: underline; }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px; border-radius: 4px; }
h1 { font-size: 1.15rem; margin: 0; } h2 { font-size: 1.1rem; margin: 0; } h3 { font-size: 1rem; margin: 0; }
p { margin: .25rem 0; } ul { list-style: none; margin: 0; padding: 0; }
code { font: 13px/1.5 ui-monospace, SFMono-Regular, Menlo, monospace; overflow-wrap: anywhere; }
.dim, time { color: var(--dim); font-size: .87rem; overflow-wrap: anywhere; }
.good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); }
.skip { position: absolute; left: -100vw; } .skip:focus { left: 1rem; top: 1rem; z-index: 3; background: var(--card); padding: .5rem 1rem; }
.script { display: none; } .js .script { display: revert; } .js .noscript { display: none; }
button, input { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: .3rem .7rem; }
button { cursor: pointer; }
@media (prefers-reduced-motion: no-preference) { .fresh { animation: fresh 1.6s ease-out; } html { scroll-behavior: smooth; } }
@keyframes fresh { from { background: var(--warn-back); } }`

const FRAME = `
header { position: sticky; top: 0; z-index: 2; background: var(--card); border-bottom: 1px solid var(--line);
  display: flex; flex-wrap: wrap; align-items: center; gap: .5rem 1rem; padding: .6rem max(1rem, calc(50vw - 39rem)); }
header form { display: flex; align-items: center; gap: .5rem; flex: 1 1 18rem; max-width: 32rem; }
header label { color: var(--dim); font-size: .87rem; }
header input { flex: 1; min-width: 0; }
header nav { display: flex; gap: 1rem; margin-left: auto; font-size: .9rem; }
.js .live { display: flex; align-items: center; gap: .6rem; font-size: .87rem; }
#live::before { content: "○ "; } #live[data-state=live]::before { content: "● "; color: var(--good); }
#live[data-state=lost]::before { content: "▲ "; color: var(--bad); }
main { max-width: 80rem; margin: 0 auto; padding: 1rem 1rem 4rem; outline: none; }
section { margin-top: 2rem; }
.head { display: flex; flex-wrap: wrap; align-items: baseline; gap: .25rem .9rem; margin-bottom: .6rem; }
.note { display: flex; flex-wrap: wrap; gap: .5rem; align-items: baseline; }
.foot p { color: var(--dim); }
.pages { display: flex; flex-wrap: wrap; gap: 1rem; margin-top: .7rem; color: var(--dim); } .pages .off { opacity: .55; }
.mark { border-radius: 1rem; font-size: .8rem; font-weight: 600; padding: .1rem .6rem; white-space: nowrap; display: inline-block; }
.mark.good { background: var(--good-back); } .mark.bad { background: var(--bad-back); } .mark.warn { background: var(--warn-back); }
.mark.dim { background: var(--chip); }
.chips { display: flex; flex-wrap: wrap; gap: .3rem; } .chips:not(:empty) { margin-top: .4rem; }
.chip { background: var(--chip); border-radius: 4px; font-size: .8rem; padding: .05rem .45rem; }
.detail { margin: .2rem 0; overflow-wrap: anywhere; } .lines { white-space: pre-line; }`

const SECTIONS = `
#summary { margin-top: 0; } #summary h2 { position: absolute; clip-path: inset(50%); height: 1px; overflow: hidden; width: 1px; }
#summary .items { display: grid; grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr)); gap: .8rem; }
#summary li a { display: block; height: 100%; background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  box-shadow: var(--shadow); color: inherit; padding: .7rem 1rem; }
#summary li b { font-size: 1.35rem; } #summary li div { margin-top: .2rem; }
#attention .items { display: grid; gap: .5rem; } #attention a { text-decoration: underline; }
#attention li { background: var(--card); border: 1px solid var(--line); border-left: 4px solid var(--bad); border-radius: 6px;
  padding: .55rem .9rem; overflow-wrap: anywhere; }
.route { display: grid; grid-template-columns: minmax(0, 1.25fr) 6rem minmax(0, 1fr) 6rem minmax(0, 1fr); align-items: center; }
.route + .route { border-top: 1px solid var(--line); margin-top: .8rem; padding-top: .8rem; }
.nodes { display: grid; gap: .5rem; }
.node { background: var(--card); border: 1px solid var(--line); border-radius: 8px; box-shadow: var(--shadow); padding: .55rem .8rem;
  min-width: 0; color: var(--text); }
.node.good { border-left: 4px solid var(--good); } .node.bad { border-left: 4px solid var(--bad); }
.node.warn { border-left: 4px solid var(--warn); }
.node.none { border: 2px dashed var(--bad); box-shadow: none; color: var(--bad); }
.top { display: flex; flex-wrap: wrap; gap: .2rem .6rem; align-items: baseline; justify-content: space-between; }
.link { position: relative; text-align: center; color: var(--dim); font-size: .75rem; }
.link::before { content: ""; position: absolute; left: .5rem; right: .5rem; top: 50%; border-top: 2px solid var(--line); }
.link::after { content: ""; position: absolute; right: .45rem; top: calc(50% - 4px); width: 8px; height: 8px;
  border: solid var(--line); border-width: 2px 2px 0 0; transform: rotate(45deg); }
.link span { position: relative; top: -.75rem; }
table { background: var(--card); border: 1px solid var(--line); border-radius: 8px; border-spacing: 0; box-shadow: var(--shadow); width: 100%; }
table:has(tbody:empty) { display: none; }
th, td { text-align: left; vertical-align: top; padding: .55rem .8rem; overflow-wrap: break-word; }
th { color: var(--dim); font-size: .8rem; font-weight: 600; white-space: nowrap; }
td { border-top: 1px solid var(--line); }
#decisions td:first-child { min-width: 6rem; } #decisions td:nth-child(2) { min-width: 9rem; }
#resources td:nth-child(2) { min-width: 10rem; overflow-wrap: anywhere; } #resources td:nth-child(4) { min-width: 9rem; }
summary { cursor: pointer; color: var(--link); } .command { display: block; background: var(--chip); border-radius: 6px; padding: .4rem .6rem; margin-bottom: .4rem; max-width: 22rem; }
.command.wide { max-width: none; }
.types { display: grid; gap: .15rem; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 1rem; overflow-x: auto; font: 13px/1.5 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
.asked { display: flex; flex-wrap: wrap; gap: .6rem; align-items: center; margin: 1rem 0; } .asked input { flex: 1 1 20rem; min-width: 0; }`

const PHONE = `
@media (max-width: 50rem) {
  header { position: static; } header nav { margin-left: 0; }
  header form { flex-basis: 100%; max-width: none; }
  #summary .items { grid-template-columns: 1fr 1fr; gap: .5rem; }
  .route { grid-template-columns: minmax(0, 1fr); }
  .link { height: 2.2rem; } .link::before { left: 50%; right: auto; top: 0; bottom: 0; border: 0; border-left: 2px solid var(--line); }
  .link::after { left: calc(50% - 3px); top: auto; bottom: .1rem; transform: rotate(135deg); }
  .link span { top: .5rem; background: var(--page); padding: 0 .4rem; }
  thead { position: absolute; clip-path: inset(50%); height: 1px; overflow: hidden; width: 1px; }
  tbody, tr, td { display: block; } tr { padding: .5rem 0; } tr + tr { border-top: 1px solid var(--line); }
  td { border: 0; padding: .15rem .9rem; display: grid; grid-template-columns: 6.2rem minmax(0, 1fr); gap: .5rem; }
  td::before { content: attr(data-head); color: var(--dim); font-size: .8rem; }
}`

/** The style sheet of the page. */
export const STYLE = `${COLOURS}${BASE}${FRAME}${SECTIONS}${PHONE}`
