// Questions before a member loses something.
import { useQueryClient } from '@tanstack/react-query'
import type { App } from 'matte-client/app'
import { useState } from 'react'
import { useApp, useSessionStore } from '../../session/use-session.ts'
import { useText } from '../../text/text.ts'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { CheckboxField } from '../../ui/field.tsx'
import { Stack } from '../../ui/page.tsx'
import { managesMembers } from './member-rules.ts'
import { teamText } from './team-text.ts'

export type Asked =
  | { readonly deed: 'remove' | 'leave' | 'transfer'; readonly member: App.TeamMember }
  | { readonly deed: 'demote'; readonly member: App.TeamMember; readonly role: App.Role }

type MemberDialogProps = {
  readonly teamId: string
  readonly asked: Asked
  readonly onClose: () => void
  readonly onRole: (role: App.Role, adoptKeys: boolean) => void
}

export function MemberDialog({ teamId, asked, onClose, onRole }: MemberDialogProps) {
  const { members: text, roles } = useText(teamText)
  const app = useApp()
  const store = useSessionStore()
  const queries = useQueryClient()
  const [adoptKeys, setAdoptKeys] = useState(false)
  const { member } = asked
  const { userId } = member
  const name = member.name ?? member.email
  const remove = async (): Promise<void> => {
    const query = { adoptKeys: adoptKeys ? ('true' as const) : ('false' as const) }
    await app.request('DELETE', '/app/teams/{teamId}/members/{userId}', { path: { teamId, userId }, query })
    if (asked.deed === 'leave') {
      // The session goes on in the personal workspace.
      await store.renew()
      void queries.invalidateQueries({ queryKey: ['workspaces'] })
    } else await queries.invalidateQueries({ queryKey: ['team', teamId] })
  }
  const transfer = async (): Promise<void> => {
    await app.request('POST', '/app/teams/{teamId}/transfer', { path: { teamId }, body: { userId } })
    await queries.invalidateQueries({ queryKey: ['team', teamId] })
  }
  const keys = (
    <CheckboxField isSelected={adoptKeys} onChange={setAdoptKeys}>
      {text.adoptKeys}
    </CheckboxField>
  )
  const [title, lede, action, act] = {
    remove: [text.removeTitle(name), text.removeLede, text.remove, remove] as const,
    leave: [text.leaveTitle, text.leaveLede, text.leave, remove] as const,
    transfer: [text.transferTitle(name), text.transferLede, text.transfer, transfer] as const,
    demote: [
      text.demoteTitle(name, asked.deed === 'demote' ? roles[asked.role] : ''),
      text.demoteLede,
      text.demote,
      async () => {
        if (asked.deed === 'demote') onRole(asked.role, adoptKeys)
      },
    ] as const,
  }[asked.deed]
  return (
    <ConfirmDialog title={title} action={action} isOpen onClose={onClose} onConfirm={act}>
      <Stack>
        <p>{lede}</p>
        {asked.deed !== 'transfer' && managesMembers(member.role) && keys}
      </Stack>
    </ConfirmDialog>
  )
}
