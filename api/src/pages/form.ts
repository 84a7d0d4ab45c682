import { type Html, html } from './html.ts'
import { pagesPath } from './pages-path.ts'

export type Field = {
  readonly name: string
  readonly label: string
  readonly type: 'email' | 'password' | 'text'
  /** Token of HTML's autofill. */
  readonly autocomplete: string
  readonly hint?: string
  readonly isOptional?: true
}

type Form = {
  /** Below the pages' own path. */
  readonly path: string
  readonly fields: readonly Field[]
  /** Sent along, such as the token of the link. */
  readonly hidden?: Values
  /** Words of the button. */
  readonly submit: string
}

/** Fields of a form as they were sent. */
export type Values = Readonly<Record<string, string | undefined>>

/** Reason for which a form is shown again. */
export type Problem = {
  readonly message: string
  /** Words that follow the label of a field, by its name. */
  readonly fields: Values
}

/** A field keeps what was typed, passwords and codes excepted. */
export function renderForm({ path, fields, hidden = {}, submit }: Form, values: Values = {}, problem?: Problem): Html {
  const wrong = fields.filter(({ name }) => problem?.fields[name] !== undefined)
  // Only a hidden field is wrong, which the link has brought.
  const isLinkWrong = wrong.length === 0 && Object.keys(problem?.fields ?? {}).length > 0
  return html`${problem && renderProblem(isLinkWrong ? { ...problem, message: linkIncomplete } : problem, wrong)}
<form method="post" action="${pagesPath}${path}">
${renderHidden(hidden)}
${fields.map((field) => renderField(field, { value: values[field.name], problem, isFirst: field === wrong[0] }))}
<button type="submit">${submit}</button>
</form>
`
}

const linkIncomplete = 'The link is incomplete. Open it again from the mail.'

export const renderHidden = (hidden: Values): readonly Html[] =>
  Object.entries(hidden).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">\n`)

/** The keyboard's focus goes to the first wrong field, else to the sentence itself. */
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

function renderField(field: Field, { value, problem, isFirst }: Shown): Html {
  const { name, label, type, autocomplete, hint, isOptional = false } = field
  const error = problem?.fields[name]
  const described = [hint && `${name}-hint`, error && `${name}-error`].filter(Boolean).join(' ')
  const kept = type === 'password' || name === 'code' ? undefined : value
  return html`<div class="field">
<label for="${name}">${label}${isOptional && html` <span class="soft">(optional)</span>`}</label>
${hint && html`<p class="hint" id="${name}-hint">${hint}</p>\n`}
${error && html`<p class="error" id="${name}-error">${label} ${error}.</p>\n`}
<input id="${name}" name="${name}" type="${type}" autocomplete="${autocomplete}"
  ${!isOptional && html` required`}${kept && html` value="${kept}"`}${isFirst && html` autofocus`}
  ${described !== '' && html` aria-describedby="${described}"`}${error && html` aria-invalid="true"`}>
</div>
`
}
