import { Outlet } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { I18nProvider } from 'react-aria-components'
import { LocaleContext } from '../text/text.ts'
import { Shell } from './shell.tsx'
import { usePageLocale } from './use-page-locale.ts'

const Toasts = lazy(async () => ({ default: (await import('../ui/toasts.tsx')).Toasts }))

export function Root() {
  const [locale, chooseLocale] = usePageLocale()
  return (
    <LocaleContext value={locale}>
      <I18nProvider locale={locale}>
        <Shell locale={locale} onLocale={chooseLocale}>
          <Outlet />
        </Shell>
        <Suspense fallback={null}>
          <Toasts />
        </Suspense>
      </I18nProvider>
    </LocaleContext>
  )
}
