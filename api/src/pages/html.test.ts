import { expect, it } from 'vitest'
import { html } from './html.ts'

it('escapes text and attributes, whatever they hold', () => {
  const evil = `"><script>alert('1')</script>&amp;`
  const escaped = '&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;amp;'
  expect(html`<p title="${evil}">${evil}</p>`.text).toBe(`<p title="${escaped}">${escaped}</p>`)
})

it('does not escape nested HTML, alone or in lists', () => {
  const items = ['a', '<b>'].map((item) => html`<li>${item}</li>`)
  expect(html`<ul>${items}</ul>`.text).toBe('<ul><li>a</li><li>&lt;b&gt;</li></ul>')
})

it('does not accept a forged object as HTML', () => {
  const forged = JSON.parse('{"text":"<script>"}') as string
  expect(() => html`${forged}`.text).toThrow()
})

it('writes numbers, and nothing for undefined, false and empty lists', () => {
  expect(html`a${undefined}b${false}c${0}d${[]}e`.text).toBe('abc0de')
})
