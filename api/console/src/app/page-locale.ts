// The language of the page: the choice in this browser, else that of the person's profile, else the browser's.
import { useEffect, useSyncExternalStore } from 'react'
import { useSession } from '../session/use-session.ts'
import { browserLocale, isLocale, type Locale } from '../text/text.ts'

const storageName = 'matte-locale'
const listeners = new Set<() => void>()

function readChosen(): Locale | undefined {
  const chosen = localStorage.getItem(storageName)
  return chosen !== null && isLocale(chosen) ? chosen : undefined
}

/** Undefined: the profile decides again. */
export function chooseLocale(locale: Locale | undefined): void {
  if (locale === undefined) localStorage.removeItem(storageName)
  else localStorage.setItem(storageName, locale)
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function usePageLocale(): Locale {
  const session = useSession()
  const chosen = useSyncExternalStore(subscribe, readChosen)
  const ofUser = session.kind === 'member' ? session.user.locale?.slice(0, 2) : undefined
  const locale = chosen ?? (ofUser !== undefined && isLocale(ofUser) ? ofUser : browserLocale(navigator.languages))
  useEffect(() => {
    document.documentElement.lang = locale
  }, [locale])
  return locale
}
