// Code blocks. Colours come from classes, because the Content-Security-Policy forbids style attributes.
import highlighter from 'highlight.js/lib/core'
import bash from 'highlight.js/lib/languages/bash'
import csharp from 'highlight.js/lib/languages/csharp'
import diff from 'highlight.js/lib/languages/diff'
import go from 'highlight.js/lib/languages/go'
import ini from 'highlight.js/lib/languages/ini'
import java from 'highlight.js/lib/languages/java'
import javascript from 'highlight.js/lib/languages/javascript'
import json from 'highlight.js/lib/languages/json'
import php from 'highlight.js/lib/languages/php'
import python from 'highlight.js/lib/languages/python'
import ruby from 'highlight.js/lib/languages/ruby'
import sql from 'highlight.js/lib/languages/sql'
import typescript from 'highlight.js/lib/languages/typescript'
import yaml from 'highlight.js/lib/languages/yaml'
import { escapeHtml } from '../html.ts'

const languages = { bash, csharp, diff, go, ini, java, javascript, json, php, python, ruby, sql, typescript, yaml }
for (const [name, language] of Object.entries(languages)) highlighter.registerLanguage(name, language)

/** A focusable block: a keyboard can scroll long lines. Unknown languages are not coloured. */
export function codeBlock(code: string, language = ''): string {
  const text = code.replace(/\n$/, '')
  const known = highlighter.getLanguage(language) !== undefined
  const colored = known ? highlighter.highlight(text, { language, ignoreIllegals: true }).value : escapeHtml(text)
  return `<div class="code"><pre tabindex="0"><code>${colored}</code></pre></div>\n`
}
