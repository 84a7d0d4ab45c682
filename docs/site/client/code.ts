// Copy buttons, and tabs of request examples.
import { recall, remember } from './storage.ts'

const copiedMs = 1_600

export function addCopyButtons(): void {
  for (const block of document.querySelectorAll<HTMLElement>('.code')) {
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'copy'
    button.textContent = 'Copy'
    button.addEventListener('click', async () => {
      const text = block.querySelector('code')?.textContent ?? ''
      button.textContent = await copy(text)
      setTimeout(() => {
        button.textContent = 'Copy'
      }, copiedMs)
    })
    block.append(button)
  }
}

/** Browsers offer the clipboard on https and localhost only. */
async function copy(text: string): Promise<string> {
  try {
    await navigator.clipboard.writeText(text)
    return 'Copied'
  } catch {
    return 'Select and copy'
  }
}

let tabsBuilt = 0

/** One example at a time; the chosen language is remembered for all operations. */
export function buildTabs(): void {
  const groups = [...document.querySelectorAll<HTMLElement>('.tabs')].filter(({ children }) => children.length > 1)
  const show = (title: string) => {
    for (const group of groups) showTab(group, title)
  }
  for (const group of groups)
    addTabs(group, (title) => {
      remember('language', title)
      show(title)
    })
  show(recall('language') ?? 'curl')
}

function addTabs(group: HTMLElement, choose: (title: string) => void): void {
  const list = document.createElement('div')
  list.role = 'tablist'
  list.ariaLabel = 'Language of the example'
  for (const panel of [...group.children] as HTMLElement[]) {
    const id = `tab-${tabsBuilt++}`
    const title = panel.dataset.title ?? ''
    const tab = document.createElement('button')
    Object.assign(tab, { type: 'button', role: 'tab', id, textContent: title })
    tab.addEventListener('click', () => choose(title))
    tab.addEventListener('keydown', (event) => moveBetween(list, tab, event))
    panel.id = `${id}-panel`
    panel.role = 'tabpanel'
    tab.setAttribute('aria-controls', panel.id)
    panel.setAttribute('aria-labelledby', id)
    list.append(tab)
  }
  group.prepend(list)
}

function moveBetween(list: HTMLElement, tab: HTMLElement, event: KeyboardEvent): void {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
  if (step === undefined) return
  const tabs = [...list.children] as HTMLElement[]
  const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length]
  event.preventDefault()
  next?.click()
  next?.focus()
}

function showTab(group: HTMLElement, title: string): void {
  const panels = [...group.querySelectorAll<HTMLElement>('.tab')]
  const chosen = panels.find((panel) => panel.dataset.title === title) ?? panels[0]
  for (const panel of panels) panel.hidden = panel !== chosen
  for (const tab of group.querySelectorAll<HTMLElement>('[role=tab]')) {
    const isChosen = tab.getAttribute('aria-controls') === chosen?.id
    tab.setAttribute('aria-selected', String(isChosen))
    tab.tabIndex = isChosen ? 0 : -1
  }
}
