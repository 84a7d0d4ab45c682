import { Outlet } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { I18nProvider } from 'react-aria-components'
import { identityOf } from '../session/session.ts'
import { useSession } from '../session/use-session.ts'
import { LocaleContext } from '../text/text.ts'
import { chooseLocale, usePageLocale } from './page-locale.ts'
import { Shell } from './shell.tsx'

const Toasts = lazy(async () => ({ default: (await import('../ui/toasts.tsx')).Toasts }))
const ExpiredDialog = lazy(async () => ({ default: (await import('./expired-dialog.tsx')).ExpiredDialog }))

export function Root() {
  const locale = usePageLocale()
  const session = useSession()
  return (
    <LocaleContext value={locale}>
      <I18nProvider locale={locale}>
        <Shell locale={locale} onLocale={chooseLocale}>
          {/* What was typed or chosen in one workspace does not stay in the next. */}
          <Outlet key={session.kind === 'member' ? identityOf(session) : 'open'} />
        </Shell>
        <Suspense fallback={null}>
          {session.kind === 'member' && session.isExpired && <ExpiredDialog session={session} />}
          <Toasts />
        </Suspense>
      </I18nProvider>
    </LocaleContext>
  )
}
