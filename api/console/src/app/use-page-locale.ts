// The language of the page: that of the person's profile, else the choice in this browser, else the browser's.
import { useEffect, useState } from 'react'
import { useSession } from '../session/use-session.ts'
import { browserLocale, isLocale, type Locale } from '../text/text.ts'

const storageName = 'matte-locale'

function readChosen(): Locale | undefined {
  const chosen = localStorage.getItem(storageName)
  return chosen !== null && isLocale(chosen) ? chosen : undefined
}

export function usePageLocale(): readonly [Locale, (locale: Locale) => void] {
  const session = useSession()
  const [chosen, setChosen] = useState(readChosen)
  const ofUser = session.kind === 'member' ? session.user.locale?.slice(0, 2) : undefined
  const locale = chosen ?? (ofUser !== undefined && isLocale(ofUser) ? ofUser : browserLocale(navigator.languages))
  useEffect(() => {
    document.documentElement.lang = locale
  }, [locale])
  const choose = (next: Locale): void => {
    localStorage.setItem(storageName, next)
    setChosen(next)
  }
  return [locale, choose]
}
