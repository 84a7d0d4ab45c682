import { expect, it } from 'vitest'
import { html } from './html.ts'

it('escapes text and attributes, whatever they hold', () => {
  const evil = `"><script>alert('1')</script>&amp;`
  const escaped = '&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;amp;'
  expect(html`<p title="${evil}">${evil}</p>`.text).toBe(`<p title="${escaped}">${escaped}</p>`)
})

it('takes HTML of its own as it is, alone and in lists', () => {
  const items = ['a', '<b>'].map((item) => html`<li>${item}</li>`)
  expect(html`<ul>${items}</ul>`.text).toBe('<ul><li>a</li><li>&lt;b&gt;</li></ul>')
})

it('does not take an object for HTML because it looks like it', () => {
  const forged = JSON.parse('{"text":"<script>"}') as string
  expect(() => html`${forged}`.text).toThrow()
})

it('writes numbers, and nothing where there is nothing', () => {
  expect(html`a${undefined}b${false}c${0}d${[]}e`.text).toBe('abc0de')
})
