// Behaviour of the pages. Each page can be read without it.
import { addCopyButtons, buildTabs } from './code.ts'
import { startSearch } from './search.ts'
import { recall, remember } from './storage.ts'

startMenu()
startTheme()
buildTabs()
addCopyButtons()
freeFittingBlocks()
markHeadings()
startSearch()

function startMenu(): void {
  const button = document.querySelector<HTMLButtonElement>('.menu')
  if (button === null) return
  button.hidden = false
  const toggle = (isOpen: boolean) => {
    document.body.classList.toggle('menu-open', isOpen)
    button.setAttribute('aria-expanded', String(isOpen))
  }
  button.addEventListener('click', () => toggle(button.getAttribute('aria-expanded') !== 'true'))
  document.addEventListener('keydown', ({ key }) => {
    if (key === 'Escape' && button.getAttribute('aria-expanded') === 'true') {
      toggle(false)
      button.focus()
    }
  })
  document.querySelector('.navigation [aria-current]')?.scrollIntoView({ block: 'center' })
  scrollTo(0, location.hash === '' ? 0 : scrollY)
}

function startTheme(): void {
  const button = document.querySelector<HTMLButtonElement>('.theme')
  if (button === null) return
  button.hidden = false
  const system = matchMedia('(prefers-color-scheme: dark)')
  const isDark = () =>
    (recall('theme') ?? document.documentElement.dataset.theme ?? (system.matches ? 'dark' : 'light')) === 'dark'
  const show = () => button.setAttribute('aria-pressed', String(isDark()))
  button.addEventListener('click', () => {
    const next = isDark() ? 'light' : 'dark'
    document.documentElement.dataset.theme = next
    remember('theme', next)
    show()
  })
  system.addEventListener('change', show)
  show()
}

/** Blocks that need no scrolling are no stop of the Tab key. */
function freeFittingBlocks(): void {
  const blocks = document.querySelectorAll<HTMLElement>('article [tabindex="0"]')
  const update = () => {
    for (const block of blocks) block.tabIndex = block.scrollWidth > block.clientWidth ? 0 : -1
  }
  update()
  addEventListener('resize', update)
}

/** Marks the section on screen in the contents. */
function markHeadings(): void {
  const links = new Map(
    [...document.querySelectorAll<HTMLAnchorElement>('.contents a')].map((link) => [
      decodeURIComponent(link.hash.slice(1)),
      link,
    ]),
  )
  const observer = new IntersectionObserver(
    (entries) => {
      const seen = entries.filter(({ isIntersecting }) => isIntersecting).map(({ target }) => target.id)
      const link = links.get(seen[0] ?? '')
      if (link === undefined) return
      for (const other of links.values()) other.removeAttribute('aria-current')
      link.setAttribute('aria-current', 'true')
    },
    { rootMargin: '-64px 0px -70% 0px' },
  )
  for (const id of links.keys()) {
    const heading = document.getElementById(id)
    if (heading !== null) observer.observe(heading)
  }
}
