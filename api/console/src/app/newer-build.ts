// A newer build of the console, such as that of an upgraded service, lacks the parts of this one that are not loaded
// yet. Opening a page whose code is missing reloads the document. A missing part of an open page shows a note instead.
import { useEffect, useState, useSyncExternalStore } from 'react'

const listeners = new Set<() => void>()
let newer: string | undefined

/** Parts that could not be loaded: the service has a newer build, or it does not answer. */
const missing = new WeakSet<object>()

/** Builds that this tab has had, each at most once: a service with two builds at once must cause no loop. */
const hadName = (build: string): string => `matte-build ${build}`

/** The script of a page is named after its content. */
const buildOf = (page: Document): string | null =>
  page.querySelector('script[type="module"]')?.getAttribute('src') ?? null

/** The build that the service has now; null if it does not answer. */
async function readBuild(): Promise<string | null> {
  try {
    const response = await fetch('/', { headers: { accept: 'text/html' }, cache: 'no-store' })
    return response.ok ? buildOf(new DOMParser().parseFromString(await response.text(), 'text/html')) : null
  } catch {
    return null
  }
}

async function findNewer(): Promise<string | undefined> {
  const build = await readBuild()
  if (build === null || build === buildOf(document)) return newer
  newer = build
  for (const listener of listeners) listener()
  return build
}

export function followBuilds(): void {
  addEventListener('vite:preloadError', ({ payload }) => {
    // The router knows this error by its text and would reload, which leaves the console while the service is away.
    payload.message = `A part of the console could not be loaded: ${payload.message}`
    missing.add(payload)
    void findNewer()
  })
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const useHasNewerBuild = (): boolean => useSyncExternalStore(subscribe, () => newer !== undefined)

/**
 * Reloads the document if the code of a page is missing because the service has a newer build. `mayReload`: the session
 * outlasts it. True until the answer of the service, and during the reload.
 */
export function useReload(error: unknown, mayReload: boolean): boolean {
  const isMissing = typeof error === 'object' && error !== null && missing.has(error)
  const [isOpen, setIsOpen] = useState(isMissing)
  useEffect(() => {
    if (!isMissing) return
    let isGone = false
    void findNewer().then((build) => {
      if (isGone) return
      if (build === undefined || !mayReload || sessionStorage.getItem(hadName(build)) !== null) return setIsOpen(false)
      for (const had of [buildOf(document), build]) sessionStorage.setItem(hadName(had ?? ''), '')
      location.reload()
    })
    return () => {
      isGone = true
    }
  }, [isMissing, mayReload])
  return isOpen
}
