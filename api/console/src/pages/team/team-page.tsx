import { useQuery } from '@tanstack/react-query'
import type { App } from 'matte-client/app'
import { useEffect, useState } from 'react'
import type { Member } from '../../session/session.ts'
import { useApp, useSession, useSessionStore } from '../../session/use-session.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { Page } from '../../ui/page.tsx'
import { PageTabs } from '../../ui/page-tabs.tsx'
import { Loaded } from '../../ui/states.tsx'
import { AuditTab } from './audit-tab.tsx'
import { CreateTeamDialog } from './create-team-dialog.tsx'
import { InvitesTab } from './invites-tab.tsx'
import { LimitsTab } from './limits-tab.tsx'
import { managesMembers, seesCredits } from './member-rules.ts'
import { MembersTab } from './members-tab.tsx'
import { PersonalPage } from './personal-page.tsx'
import { SettingsTab } from './settings-tab.tsx'
import { teamText } from './team-text.ts'

export function TeamPage() {
  const session = useSession()
  return session.kind === 'member' ? <WorkspacePage session={session} /> : null
}

type SessionProps = { readonly session: Member }

/** The team of the session, or an offer to create one in a personal workspace. */
function WorkspacePage({ session }: SessionProps) {
  const text = useText(teamText)
  const app = useApp()
  const workspaces = useQuery({
    queryKey: ['workspaces'],
    queryFn: () => app.list('/app/users/workspaces').all(),
  })
  const own = workspaces.data?.find(({ id }) => id === session.workspaceId)
  if (own?.kind === 'team') return <OpenTeam teamId={own.id} session={session} />
  if (own?.kind === 'personal') return <PersonalPage />
  return (
    <Page title={text.title}>
      <Loaded query={workspaces} lines={8}>
        {() => null}
      </Loaded>
    </Page>
  )
}

function OpenTeam({ teamId, session }: SessionProps & { readonly teamId: string }) {
  const text = useText(teamText)
  const app = useApp()
  const store = useSessionStore()
  const [isCreating, setIsCreating] = useState(false)
  const query = useQuery({
    queryKey: ['team', teamId],
    queryFn: ({ signal }) => app.request('GET', '/app/teams/{teamId}', { path: { teamId }, signal }),
  })
  const { data: team } = query
  const role = team?.role
  // Somebody changed this person's role: the rest of the console follows with a new token.
  useEffect(() => {
    if (role !== undefined && role !== session.role) void store.renew()
  }, [role, session.role, store])
  return (
    <Page
      title={team?.name ?? text.title}
      lede={role === undefined ? undefined : text.lede(text.roles[role])}
      actions={<Button onPress={() => setIsCreating(true)}>{text.create.action}</Button>}
    >
      <Loaded query={query} lines={8}>
        {(loaded) => <TeamTabs team={loaded} userId={session.user.id} />}
      </Loaded>
      {isCreating && <CreateTeamDialog onClose={() => setIsCreating(false)} />}
    </Page>
  )
}

function TeamTabs({ team, userId }: { readonly team: App.Team; readonly userId: string }) {
  const { tabs: text, title } = useText(teamText)
  const { role } = team
  const tabs = [
    ...(managesMembers(role)
      ? [
          { id: 'members', title: text.members, content: <MembersTab team={team} userId={userId} /> },
          { id: 'invites', title: text.invites, content: <InvitesTab team={team} /> },
        ]
      : []),
    ...(seesCredits(role) ? [{ id: 'limits', title: text.limits, content: <LimitsTab team={team} /> }] : []),
    ...(managesMembers(role) ? [{ id: 'audit', title: text.audit, content: <AuditTab teamId={team.id} /> }] : []),
    { id: 'settings', title: text.settings, content: <SettingsTab team={team} userId={userId} /> },
  ]
  return <PageTabs label={title} tabs={tabs} />
}
