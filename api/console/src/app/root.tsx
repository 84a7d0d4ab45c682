import { Outlet } from '@tanstack/react-router'
import { Suspense, useEffect, useState } from 'react'
import { I18nProvider } from 'react-aria-components'
import { identityOf, type Session } from '../session/session.ts'
import { useProofRequest, useSession } from '../session/use-session.ts'
import { TimeZoneContext, timeZoneOf } from '../text/format.ts'
import { LocaleContext } from '../text/text.ts'
import { lazyPart } from './lazy-part.tsx'
import { chooseLocale, usePageLocale } from './page-locale.ts'
import { Shell } from './shell.tsx'

const Toasts = lazyPart(async () => (await import('../ui/toasts.tsx')).Toasts)
const loadExpiredDialog = async () => (await import('./expired-dialog.tsx')).ExpiredDialog
const ExpiredDialog = lazyPart(loadExpiredDialog)
const loadProofDialog = async () => (await import('./proof-dialog.tsx')).ProofDialog
const ProofDialog = lazyPart(loadProofDialog)
const dialogsAfterMs = 3_000

export function Root() {
  const locale = usePageLocale()
  const session = useSession()
  const proofRequest = useProofRequest()
  const generation = useGeneration(session)
  const isMember = session.kind === 'member'
  useEffect(() => {
    if (!isMember) return
    // Before they are needed, because the service may be upgraded or away by then, and after the page has its pictures.
    const load = (): void => void Promise.all([loadExpiredDialog(), loadProofDialog()]).catch(() => undefined)
    const timer = setTimeout(load, dialogsAfterMs)
    return () => clearTimeout(timer)
  }, [isMember])
  return (
    <LocaleContext value={locale}>
      <I18nProvider locale={locale}>
        <TimeZoneContext value={timeZoneOf(session)}>
          <Shell locale={locale} onLocale={chooseLocale}>
            {/* What was typed or chosen in one workspace does not stay in the next. */}
            <Outlet key={generation} />
          </Shell>
          <Suspense fallback={null}>
            {proofRequest !== undefined && <ProofDialog request={proofRequest} />}
            {session.kind === 'member' && session.isExpired && <ExpiredDialog session={session} />}
            <Toasts />
          </Suspense>
        </TimeZoneContext>
      </I18nProvider>
    </LocaleContext>
  )
}

/** Changes with the person or the workspace, but not while the first session resumes. */
function useGeneration(session: Session): number {
  const [last, setLast] = useState<{ readonly identity?: string; readonly count: number }>({ count: 0 })
  const identity = session.kind === 'member' ? identityOf(session) : last.identity
  if (identity === undefined || identity === last.identity) return last.count
  const count = last.identity === undefined ? last.count : last.count + 1
  setLast({ identity, count })
  return count
}
