// The search dialog. Its index is fetched and built when it is first opened.
import MiniSearch from 'minisearch'
import type { IndexedSection } from '../search-index.ts'

type Hit = IndexedSection & { readonly terms: readonly string[] }
type Find = (query: string) => Hit[]

const hitsMax = 12
const excerptBefore = 40
const excerptMax = 150

export function startSearch(): void {
  const opener = document.querySelector<HTMLButtonElement>('.search')
  if (opener === null) return
  opener.hidden = false
  let dialog: HTMLDialogElement | undefined
  const open = () => {
    dialog ??= createDialog()
    if (!dialog.open) dialog.showModal()
    dialog.querySelector('input')?.select()
  }
  opener.addEventListener('click', open)
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target instanceof Element && event.target.closest('input, textarea, select') !== null
    const isShortcut = (event.key === 'k' && (event.ctrlKey || event.metaKey)) || (event.key === '/' && !isTyping)
    if (!isShortcut) return
    event.preventDefault()
    open()
  })
}

function createDialog(): HTMLDialogElement {
  const dialog = document.createElement('dialog')
  dialog.className = 'search-dialog'
  dialog.setAttribute('aria-label', 'Search')
  dialog.innerHTML = `<input type="text" enterkeyhint="search" role="combobox" aria-label="Search the documentation" aria-controls="hits"
    aria-expanded="false" aria-autocomplete="list" placeholder="Search pages, operations, error codes" autocomplete="off"
    spellcheck="false"><p class="state" role="status"></p><ul id="hits" role="listbox" aria-label="Results"></ul>`
  const [input, state, list] = ['input', '.state', '#hits'].map((name) => dialog.querySelector<HTMLElement>(name))
  if (!(input instanceof HTMLInputElement) || !state || !list) throw new Error('the dialog is incomplete')
  const view = { input, state, list }
  const index = loadIndex()
  index.then(undefined, () => {
    state.textContent = 'The search index could not be loaded. Reload the page.'
  })
  input.addEventListener('input', async () => showHits(view, await index))
  input.addEventListener('keydown', (event) => moveSelection(view, event))
  dialog.addEventListener('click', ({ target }) => {
    if (target === dialog || (target instanceof Element && target.closest('a') !== null)) dialog.close()
  })
  document.body.append(dialog)
  return dialog
}

async function loadIndex(): Promise<Find> {
  const response = await fetch(document.documentElement.dataset.index ?? '')
  if (!response.ok) throw new Error(`the index has status ${response.status}`)
  const sections = (await response.json()) as IndexedSection[]
  const index = new MiniSearch<IndexedSection>({
    idField: 'u',
    fields: ['p', 'h', 't'],
    // Codes and names stay whole and are also found by their parts.
    tokenize: (text) => text.split(/[\s,;:()[\]{}"'`<>=|!?/]+/).flatMap((word) => [word, ...partsOf(word)]),
    searchOptions: {
      boostDocument: weightOf,
      boost: { p: 4, h: 3 },
      prefix: true,
      fuzzy: (term) => (term.length > 4 ? 0.2 : false),
      combineWith: 'AND',
    },
  })
  index.addAll(sections)
  const byUrl = new Map(sections.map((section) => [section.u, section]))
  return (query) =>
    index.search(query).flatMap(({ id, terms }) => {
      const section = byUrl.get(id)
      return section === undefined ? [] : [{ ...section, terms }]
    })
}

/** Pages come before their sections, and what is current before what was. */
function weightOf(url: string): number {
  if (/^\/docs\/(api\/deprecated|changelog|decisions)/.test(url)) return 0.3
  if (!url.includes('#')) return 2
  return /^\/docs\/(errors|events)\//.test(url) ? 0.5 : 1
}

/** `TASK_CANNOT_CANCEL` also by `cancel`, `createTask` by `task`. */
function partsOf(word: string): string[] {
  const parts = word.split(/[._-]+|(?<=[a-z])(?=[A-Z])/).filter((part) => part.length > 1)
  return parts.length > 1 ? parts : []
}

type View = { readonly input: HTMLInputElement; readonly state: HTMLElement; readonly list: HTMLElement }

function showHits({ input, state, list }: View, find: Find): void {
  const query = input.value.trim()
  const hits = query === '' ? [] : find(query).slice(0, hitsMax)
  list.replaceChildren(...hits.map(toItem))
  state.textContent = query === '' ? '' : hits.length === 0 ? `Nothing found for “${query}”.` : ''
  input.setAttribute('aria-expanded', String(hits.length > 0))
  select(input, optionsOf(list), 0)
}

function toItem({ u, p, h, t, terms }: Hit, at: number): HTMLElement {
  const item = document.createElement('li')
  item.role = 'presentation'
  const link = document.createElement('a')
  link.href = u
  Object.assign(link, { id: `hit-${at}`, role: 'option', tabIndex: -1 })
  const title = document.createElement('strong')
  title.textContent = h === '' ? p : `${p} › ${h}`
  const text = document.createElement('span')
  text.append(...excerptOf(t, terms))
  link.append(title, text)
  item.append(link)
  return item
}

/** Text around the first term, with the terms marked. */
function excerptOf(text: string, terms: readonly string[]): (string | HTMLElement)[] {
  const escaped = terms.map((term) => term.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  const pattern = new RegExp(`(${escaped.join('|')})`, 'gi')
  const first = Math.max(0, text.search(pattern) - excerptBefore)
  const start = first === 0 ? 0 : text.indexOf(' ', first) + 1
  const part = text.slice(start, start + excerptMax)
  return part.split(pattern).map((piece, at) => {
    if (at % 2 === 0) return piece
    const mark = document.createElement('mark')
    mark.textContent = piece
    return mark
  })
}

function moveSelection({ input, list }: View, event: KeyboardEvent): void {
  const items = optionsOf(list)
  const at = items.findIndex((item) => item.ariaSelected === 'true')
  if (event.key === 'Enter') {
    event.preventDefault()
    items[at]?.click()
    return
  }
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  if (step === undefined || items.length === 0) return
  event.preventDefault()
  select(input, items, (at + step + items.length) % items.length)
}

const optionsOf = (list: HTMLElement): HTMLElement[] => [...list.querySelectorAll<HTMLElement>('[role=option]')]

function select(input: HTMLElement, options: readonly HTMLElement[], at: number): void {
  const chosen = options[at]
  for (const option of options) option.ariaSelected = String(option === chosen)
  chosen?.scrollIntoView({ block: 'nearest' })
  if (chosen === undefined) input.removeAttribute('aria-activedescendant')
  else input.setAttribute('aria-activedescendant', chosen.id)
}
