import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { App } from 'matte-client/app'
import { useState } from 'react'
import { useSwitchWorkspace } from '../../app/use-switch-workspace.ts'
import { forgetLinkToken, linkValues } from '../../session/link-values.ts'
import { useApp, useSession, useSessionStore } from '../../session/use-session.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { Form } from '../../ui/form.tsx'
import { NarrowPage } from '../../ui/narrow-page.tsx'
import { Stack } from '../../ui/page.tsx'
import { ErrorNote } from '../../ui/states.tsx'
import { useAction } from '../../ui/use-action.ts'
import { NoLinkPage } from './no-link-page.tsx'
import { signUpText } from './sign-up-text.ts'

/** The link of an invitation to a team. Only the person with the invited address can accept it. */
export function AcceptInvitePage() {
  const { accept: text } = useText(signUpText)
  const app = useApp()
  const store = useSessionStore()
  const session = useSession()
  const queries = useQueryClient()
  const [token] = useState(linkValues().token)
  const [team, setTeam] = useState<App.Team>()
  const accept = useAction(async () => {
    setTeam(await app.request('POST', '/app/teams/invites/accept', { body: { token: token ?? '' } }))
    forgetLinkToken()
    await queries.invalidateQueries({ queryKey: ['workspaces'] })
  })
  if (team !== undefined) return <Joined team={team} />
  if (token === undefined) return <NoLinkPage title={text.title} />
  return (
    <NarrowPage title={text.title} lede={session.kind === 'member' ? text.lede(session.user.email) : undefined}>
      <Form onSubmit={accept.run}>
        {accept.error !== undefined && <ErrorNote error={accept.error} />}
        <Button type="submit" look="primary" isPending={accept.isPending}>
          {text.submit}
        </Button>
        <Button look="quiet" onPress={() => void store.signOut()}>
          {text.other}
        </Button>
      </Form>
    </NarrowPage>
  )
}

function Joined({ team }: { readonly team: App.Team }) {
  const { accept: text } = useText(signUpText)
  const switchTo = useSwitchWorkspace()
  const navigate = useNavigate()
  const open = async (): Promise<void> => {
    await switchTo(team.id)
    await navigate({ to: '/team' })
  }
  return (
    <NarrowPage title={text.title}>
      <Stack>
        <p role="status">{text.done(team.name)}</p>
        <Button look="primary" onPress={() => void open()}>
          {text.switchTo}
        </Button>
      </Stack>
    </NarrowPage>
  )
}
