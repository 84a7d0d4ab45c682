import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { App } from 'matte-client/app'
import { useState } from 'react'
import { useApp } from '../../session/use-session.ts'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { SelectField } from '../../ui/field.tsx'
import { Menu } from '../../ui/menu.tsx'
import { Card } from '../../ui/page.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Badge } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { useChange } from '../../ui/use-change.ts'
import { type Asked, MemberDialog } from './member-dialogs.tsx'
import { canRemove, losesKeys, rolesFor } from './member-rules.ts'
import styles from './team.module.css'
import { teamText } from './team-text.ts'

type Members = { readonly items: readonly App.TeamMember[] }
type NewRole = { readonly userId: string; readonly role: App.Role; readonly adoptKeys?: boolean }

type MembersTabProps = { readonly team: App.Team; readonly userId: string }

export function MembersTab({ team, userId }: MembersTabProps) {
  const text = useText(teamText)
  const app = useApp()
  const queries = useQueryClient()
  const format = useFormat()
  const [asked, setAsked] = useState<Asked>()
  const queryKey = ['team', team.id, 'members']
  const members = useQuery({
    queryKey,
    // Others change it too.
    staleTime: 0,
    queryFn: ({ signal }) => app.request('GET', '/app/teams/{teamId}/members', { path: { teamId: team.id }, signal }),
  })
  const change = useChange<Members, NewRole>({
    queryKey,
    apply: (data, { userId: target, role }) => ({
      ...data,
      items: data.items.map((one) => (one.userId === target ? { ...one, role } : one)),
    }),
    send: async ({ userId: target, ...body }) => {
      const path = { teamId: team.id, userId: target }
      await app.request('PATCH', '/app/teams/{teamId}/members/{userId}', { path, body })
      if (target === userId) void queries.invalidateQueries({ queryKey: ['team', team.id] })
    },
  })
  const owners = members.data?.items.filter(({ role }) => role === 'owner').length ?? 0
  const choose = (member: App.TeamMember, role: App.Role): void => {
    if (role === member.role) return
    if (losesKeys(member.role, role)) setAsked({ deed: 'demote', member, role })
    else void change({ userId: member.userId, role })
  }
  const actionsFor = (member: App.TeamMember) => {
    const isSelf = member.userId === userId
    const isRemovable = canRemove({ actor: team.role, target: member.role, owners }, isSelf)
    return [
      ...(team.role === 'owner' && !isSelf
        ? [{ id: 'transfer', label: text.members.transfer, onAction: () => setAsked({ deed: 'transfer', member }) }]
        : []),
      ...(isRemovable
        ? [
            {
              id: 'remove',
              label: isSelf ? text.members.leave : text.members.remove,
              isDanger: true,
              onAction: () => setAsked({ deed: isSelf ? 'leave' : 'remove', member }),
            },
          ]
        : []),
    ]
  }
  const nameOf = ({ name, email }: App.TeamMember): string => name ?? email
  return (
    <Card title={text.members.title} isFlush>
      <Loaded query={members} lines={6}>
        {({ items }) => (
          <Table
            label={text.members.title}
            rows={items}
            keyOf={(one) => one.userId}
            columns={[
              {
                name: text.members.person,
                cell: (one) => (
                  <span className={styles.person}>
                    <span className={styles.name}>
                      {nameOf(one)}
                      {one.userId === userId && <Badge>{text.members.you}</Badge>}
                    </span>
                    {one.name !== null && <span className={styles.soft}>{one.email}</span>}
                  </span>
                ),
              },
              {
                name: text.members.role,
                cell: (one) => {
                  const offered = rolesFor({ actor: team.role, target: one.role, owners })
                  if (offered.length < 2) return text.roles[one.role]
                  return (
                    <div className={styles.role}>
                      <SelectField
                        label={text.members.roleOf(nameOf(one))}
                        isLabelHidden
                        value={one.role}
                        onChange={(role) => choose(one, role)}
                        choices={offered.map((value) => ({ value, label: text.roles[value] }))}
                      />
                    </div>
                  )
                },
              },
              { name: text.members.joined, cell: ({ joinedAt }) => format.date(joinedAt) },
              {
                name: text.members.actions,
                isNameHidden: true,
                isNumber: true,
                cell: (one) => {
                  const actions = actionsFor(one)
                  if (actions.length === 0) return null
                  return <Menu label={text.members.actionsFor(nameOf(one))} trigger="⋯" actions={actions} />
                },
              },
            ]}
          />
        )}
      </Loaded>
      {asked !== undefined && (
        <MemberDialog
          teamId={team.id}
          asked={asked}
          onClose={() => setAsked(undefined)}
          onRole={(role, adoptKeys) => void change({ userId: asked.member.userId, role, adoptKeys })}
        />
      )}
    </Card>
  )
}
