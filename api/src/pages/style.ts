// Stylesheet and icon of pages. Text has a contrast of at least 4.5 in both colour schemes.

export const style = `:root {
  color-scheme: light dark;
  --page: #f4f5f7;
  --card: #ffffff;
  --ink: #1c2430;
  --soft: #566170;
  --line: #8a94a3;
  --faint: #e1e5ea;
  --accent: #1f5fd0;
  --on-accent: #ffffff;
  --wrong: #b3261e;
  --wrong-page: #fdf0ef;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12161c;
    --card: #1b212a;
    --ink: #e8ebf0;
    --soft: #a3adbb;
    --line: #6d7887;
    --faint: #2c343f;
    --accent: #8ab4ff;
    --on-accent: #0f1a2e;
    --wrong: #ffb4ab;
    --wrong-page: #33201f;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0;
  padding: 24px 16px 48px;
  background: var(--page);
  color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif;
}
header, main { max-width: 480px; margin: 0 auto; }
header { padding: 16px 4px; }
.brand { display: inline-flex; align-items: center; gap: 10px; font-weight: 600; font-size: 18px; }
.brand img { display: block; }
main {
  padding: 28px;
  background: var(--card);
  border: 1px solid var(--faint);
  border-radius: 12px;
}
h1 { margin: 0 0 16px; font-size: 24px; line-height: 1.25; font-weight: 650; overflow-wrap: anywhere; }
p { margin: 0 0 16px; overflow-wrap: anywhere; }
main > :last-child { margin-bottom: 0; }
a { color: var(--accent); text-underline-offset: 2px; }
.soft, .hint { color: var(--soft); font-weight: 400; }
.hint, .error { margin: 0 0 6px; font-size: 14px; }
.error { color: var(--wrong); font-weight: 600; }
main > .hint { margin-bottom: 14px; }
.field { margin: 0 0 20px; }
label { display: block; margin: 0 0 6px; font-weight: 600; }
input:not([type=checkbox]) {
  display: block;
  width: 100%;
  min-height: 46px;
  padding: 10px 12px;
  border: 1px solid var(--line);
  border-radius: 8px;
  background: var(--card);
  color: var(--ink);
  font: inherit;
}
input[aria-invalid] { border-color: var(--wrong); border-width: 2px; }
button {
  display: block;
  width: 100%;
  min-height: 46px;
  margin: 0 0 12px;
  padding: 10px 16px;
  border: 1px solid var(--accent);
  border-radius: 8px;
  background: var(--accent);
  color: var(--on-accent);
  font: inherit;
  font-weight: 600;
  cursor: pointer;
}
button.quiet { background: transparent; border-color: var(--line); color: var(--ink); }
button:hover { filter: brightness(1.08); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
form { margin: 0 0 16px; }
form > :last-child { margin-bottom: 0; }
.problem {
  margin: 0 0 20px;
  padding: 12px 16px;
  border-left: 4px solid var(--wrong);
  border-radius: 4px;
  background: var(--wrong-page);
}
.problem p { margin: 0; }
.problem ul { margin: 8px 0 0; padding: 0 0 0 20px; }
.problem a { color: var(--wrong); }
.choice { display: flex; gap: 10px; align-items: baseline; margin: 0 0 16px; font-weight: 400; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 6px 20px; margin: 0 0 24px; }
dt { color: var(--soft); }
dd { margin: 0; font-weight: 600; overflow-wrap: anywhere; }
details { margin: 4px 0 0; padding: 12px 0 0; border-top: 1px solid var(--faint); }
summary { padding: 6px 0; cursor: pointer; }
details[open] summary { margin-bottom: 12px; }
.token {
  margin: 0 0 16px;
  padding: 12px;
  border: 1px solid var(--faint);
  border-radius: 8px;
  background: var(--page);
  font: 13px/1.5 ui-monospace, Menlo, Consolas, monospace;
  white-space: pre-wrap;
  overflow-wrap: anywhere;
}
@media (max-width: 420px) {
  body { padding: 8px 8px 32px; }
  main { padding: 20px; }
}
@media (forced-colors: active) {
  button { border-width: 2px; }
}
`

export const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
<rect width="32" height="32" rx="8" fill="#1f5fd0"/>
<path d="M6 6h10v10H6zM16 16h10v10H16z" fill="#fff" opacity=".28"/>
<circle cx="16" cy="16" r="7" fill="#fff"/>
</svg>
`
