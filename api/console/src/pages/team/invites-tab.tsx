import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { App } from 'matte-client/app'
import { useState } from 'react'
import { useApp } from '../../session/use-session.ts'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Card, Row, Stack } from '../../ui/page.tsx'
import { Empty, ErrorNote, Loaded } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'
import { showNote } from '../../ui/toasts.tsx'
import { useAction } from '../../ui/use-action.ts'
import { useChange } from '../../ui/use-change.ts'
import { type InviteRole, inviteRoles } from './member-rules.ts'
import styles from './team.module.css'
import { teamText } from './team-text.ts'

type TeamProps = { readonly team: App.Team }

export const InvitesTab = ({ team }: TeamProps) => (
  <Stack>
    <InviteCard team={team} />
    <OpenInvitesCard teamId={team.id} />
  </Stack>
)

const keyOfInvites = (teamId: string) => ['team', teamId, 'invites']

function InviteCard({ team }: TeamProps) {
  const { invites: text, roles, rolesAbout } = useText(teamText)
  const app = useApp()
  const queries = useQueryClient()
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<InviteRole>('member')
  const invite = useAction(async () => {
    const body = { email: email.trim(), role }
    await app.request('POST', '/app/teams/{teamId}/invites', { path: { teamId: team.id }, body })
    void queries.invalidateQueries({ queryKey: keyOfInvites(team.id) })
    setEmail('')
    showNote(text.sent(body.email))
  }, ['email', 'role'])
  return (
    <Card title={text.title}>
      <div className={styles.form}>
        <Form onSubmit={invite.run}>
          <TextField
            label={text.email}
            type="email"
            name="email"
            autoComplete="off"
            value={email}
            onChange={setEmail}
            error={invite.fieldError('email') && text.emailError}
            isRequired
          />
          <SelectField
            label={text.role}
            hint={rolesAbout[role]}
            value={role}
            onChange={setRole}
            choices={inviteRoles(team.role).map((value) => ({ value, label: roles[value] }))}
            error={invite.fieldError('role')}
          />
          {invite.error !== undefined && <ErrorNote error={invite.error} />}
          <Row>
            <Button type="submit" look="primary" isPending={invite.isPending}>
              {text.send}
            </Button>
          </Row>
        </Form>
      </div>
    </Card>
  )
}

type Invites = { readonly items: readonly App.TeamInvite[] }

function OpenInvitesCard({ teamId }: { readonly teamId: string }) {
  const { invites: text, roles } = useText(teamText)
  const app = useApp()
  const format = useFormat()
  const queryKey = keyOfInvites(teamId)
  const invites = useQuery({
    queryKey,
    // Others change it too.
    staleTime: 0,
    queryFn: ({ signal }) => app.request('GET', '/app/teams/{teamId}/invites', { path: { teamId }, signal }),
  })
  const revoke = useChange<Invites, string>({
    queryKey,
    apply: (data, inviteId) => ({ ...data, items: data.items.filter(({ id }) => id !== inviteId) }),
    send: (inviteId) => app.request('DELETE', '/app/teams/{teamId}/invites/{inviteId}', { path: { teamId, inviteId } }),
  })
  return (
    <Card title={text.list} isFlush>
      <Loaded query={invites}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title={text.none} />
          ) : (
            <Table
              label={text.list}
              rows={items}
              keyOf={({ id }) => id}
              columns={[
                { name: text.email, cell: ({ email }) => email },
                { name: text.role, cell: ({ role }) => roles[role] },
                { name: text.expires, cell: ({ expiresAt }) => format.dateTime(expiresAt) },
                {
                  name: text.revoke,
                  isNameHidden: true,
                  isNumber: true,
                  cell: ({ id, email }) => (
                    <Button size="small" aria-label={text.revokeOf(email)} onPress={() => void revoke(id)}>
                      {text.revoke}
                    </Button>
                  ),
                },
              ]}
            />
          )
        }
      </Loaded>
    </Card>
  )
}
