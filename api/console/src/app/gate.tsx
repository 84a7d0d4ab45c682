// Pages behind a sign-in. Without one the form takes the place of the page, so its address stays.
import { Outlet } from '@tanstack/react-router'
import { Suspense } from 'react'
import type { Session } from '../session/session.ts'
import { useSession, useSessionStore } from '../session/use-session.ts'
import { useText } from '../text/text.ts'
import { Button } from '../ui/button.tsx'
import { Page } from '../ui/page.tsx'
import { Empty, Skeleton } from '../ui/states.tsx'
import { lazyPart } from './lazy-part.tsx'
import { shellText } from './shell-text.ts'

const SignInForm = lazyPart(async () => (await import('../pages/sign-in/sign-in-page.tsx')).SignInPage)

type GateProps = { readonly admits: readonly Session['kind'][] }

export function Gate({ admits }: GateProps) {
  const session = useSession()
  const text = useText(shellText)
  if (admits.includes(session.kind)) return <Outlet />
  if (session.kind === 'starting') return <Skeleton lines={6} />
  if (session.kind === 'none' && session.reason === 'unreachable') return <Unreachable />
  if (session.kind === 'none') {
    return (
      <Suspense fallback={<Skeleton lines={6} />}>
        <SignInForm />
      </Suspense>
    )
  }
  return (
    <Page title={text.needsMember.title}>
      <Empty title={text.needsMember.lede} />
    </Page>
  )
}

function Unreachable() {
  const store = useSessionStore()
  const { unreachable } = useText(shellText)
  return (
    <Page title={unreachable.title}>
      <Empty
        title={unreachable.lede}
        action={<Button onPress={() => void store.start()}>{unreachable.retry}</Button>}
      />
    </Page>
  )
}
