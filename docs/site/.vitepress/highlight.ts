// Colours of code by classes: the policy of the API forbids the style attributes of VitePress's own highlighter.
import highlighter from 'highlight.js/lib/common'

/** Unknown languages are not coloured. A keyboard can scroll the block. */
export function highlight(code: string, language: string): string {
  const known = highlighter.getLanguage(language) === undefined ? 'plaintext' : language
  const { value } = highlighter.highlight(code.replace(/\n$/, ''), { language: known, ignoreIllegals: true })
  return `<pre v-pre tabindex="0"><code>${value}</code></pre>`
}
