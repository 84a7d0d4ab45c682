import { type Html, html } from './html.ts'
import type { PageTexts } from './texts/english-pages.ts'

export type Field = {
  readonly name: string
  readonly label: string
  readonly type: 'email' | 'password' | 'text'
  readonly autocomplete: string
  readonly hint?: string
  readonly isOptional?: true
}

type Form = {
  readonly path: string
  readonly fields: readonly Field[]
  readonly hidden?: Values
  readonly submit: string
}

export type Values = Readonly<Record<string, string | undefined>>

export type Problem = {
  readonly message: string
  readonly fields: Values
}

/** Keeps typed values except passwords and codes. */
export function renderForm(
  texts: PageTexts,
  { path, fields, hidden = {}, submit }: Form,
  values: Values = {},
  problem?: Problem,
): Html {
  const wrong = fields.filter(({ name }) => problem?.fields[name] !== undefined)
  // Only a hidden field is wrong; its value came with the link.
  const isLinkWrong = wrong.length === 0 && Object.keys(problem?.fields ?? {}).length > 0
  return html`${problem && renderProblem(isLinkWrong ? { ...problem, message: texts.linkIncomplete } : problem, wrong)}
<form method="post" action="${path}">
${renderHidden(hidden)}
${fields.map((field) => renderField(texts, field, { value: values[field.name], problem, isFirst: field === wrong[0] }))}
<button type="submit">${submit}</button>
</form>
`
}

export const renderHidden = (hidden: Values): readonly Html[] =>
  Object.entries(hidden).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">\n`)

/** Focuses the first wrong field, else the message. */
export function renderProblem({ message, fields }: Problem, wrong: readonly Field[] = []): Html {
  const [first] = wrong
  const items = wrong.map(({ name, label }) => html`<li><a href="#${name}">${label} ${fields[name]}.</a></li>`)
  return html`<div class="problem" role="alert" tabindex="-1"${first === undefined && html` autofocus`}>
<p>${message}</p>
${first && html`<ul>${items}</ul>`}
</div>
`
}

type Shown = { readonly value: string | undefined; readonly problem: Problem | undefined; readonly isFirst: boolean }

function renderField(texts: PageTexts, field: Field, { value, problem, isFirst }: Shown): Html {
  const { name, label, type, autocomplete, hint, isOptional = false } = field
  const error = problem?.fields[name]
  const described = [hint && `${name}-hint`, error && `${name}-error`].filter(Boolean).join(' ')
  const kept = type === 'password' || name === 'code' ? undefined : value
  return html`<div class="field">
<label for="${name}">${label}${isOptional && html` <span class="soft">${texts.optional}</span>`}</label>
${hint && html`<p class="hint" id="${name}-hint">${hint}</p>\n`}
${error && html`<p class="error" id="${name}-error">${label} ${error}.</p>\n`}
<input id="${name}" name="${name}" type="${type}" autocomplete="${autocomplete}"
  ${!isOptional && html` required`}${kept && html` value="${kept}"`}${isFirst && html` autofocus`}
  ${described !== '' && html` aria-describedby="${described}"`}${error && html` aria-invalid="true"`}>
</div>
`
}
