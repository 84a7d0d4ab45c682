import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import type { App } from 'matte-client/app'
import { useState } from 'react'
import { useApp, useSession } from '../../session/use-session.ts'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { Secret } from '../../ui/copy.tsx'
import { ConfirmDialog, Dialog, DialogActions } from '../../ui/dialog.tsx'
import { CheckboxField, SelectField, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Menu } from '../../ui/menu.tsx'
import { Card, Page, Stack } from '../../ui/page.tsx'
import { Empty, ErrorNote, Loaded } from '../../ui/states.tsx'
import { Badge } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { showProblem } from '../../ui/toasts.tsx'
import { uiText } from '../../ui/ui-text.ts'
import { useAction } from '../../ui/use-action.ts'
import { useRequestKey } from '../../ui/use-request-key.ts'
import { AccessNote } from './access-note.tsx'
import styles from './keys.module.css'
import { keysText } from './keys-text.ts'

const queryKey = ['api-keys']
const dayMs = 86_400_000

/** API keys of the workspace: create, roll, revoke. A key is shown once. */
export function KeysPage() {
  const app = useApp()
  const text = useText(keysText)
  const queries = useQueryClient()
  const { create: proposedName } = useSearch({ from: '/_member/keys' })
  const navigate = useNavigate()
  const [dialog, setDialog] = useState<
    'create' | { readonly roll: App.MemberApiKey } | { readonly revoke: App.MemberApiKey } | undefined
  >(proposedName === undefined ? undefined : 'create')
  const [shown, setShown] = useState<string>()
  const keys = useQuery({ queryKey, queryFn: () => app.list('/app/developer/api-keys').all() })
  const close = (): void => {
    setDialog(undefined)
    if (proposedName !== undefined) void navigate({ to: '/keys', search: {}, replace: true })
  }
  const changed = (key?: string): void => {
    setShown(key)
    void queries.invalidateQueries({ queryKey })
  }
  const revoke = async ({ id }: App.MemberApiKey): Promise<void> => {
    await app.request('DELETE', '/app/developer/api-keys/{apiKeyId}', { path: { apiKeyId: id } })
    changed()
  }
  return (
    <Page
      title={text.title}
      lede={text.lede}
      actions={
        <Button look="primary" onPress={() => setDialog('create')}>
          {text.create}
        </Button>
      }
    >
      <AccessNote />
      {shown !== undefined && (
        <Card title={text.once}>
          <Stack>
            <p>{text.onceHint}</p>
            <Secret value={shown} label={text.key} />
          </Stack>
        </Card>
      )}
      <Card isFlush>
        <Loaded query={keys} lines={5}>
          {(list) =>
            list.length === 0 ? (
              <Empty title={text.none} />
            ) : (
              <KeyTable
                keys={list}
                onRoll={(roll) => setDialog({ roll })}
                onRevoke={(key) => setDialog({ revoke: key })}
              />
            )
          }
        </Loaded>
      </Card>
      {dialog === 'create' && <CreateKeyDialog proposedName={proposedName} onClose={close} onCreated={changed} />}
      {typeof dialog === 'object' && 'roll' in dialog && (
        <RollKeyDialog apiKey={dialog.roll} onClose={close} onRolled={changed} />
      )}
      {typeof dialog === 'object' && 'revoke' in dialog && (
        <ConfirmDialog
          title={text.revokeTitle(dialog.revoke.name)}
          action={text.revoke}
          isOpen
          onClose={close}
          onConfirm={() => revoke(dialog.revoke)}
        >
          {text.revokeHint}
        </ConfirmDialog>
      )}
    </Page>
  )
}

type KeyTableProps = {
  readonly keys: readonly App.MemberApiKey[]
  readonly onRoll: (key: App.MemberApiKey) => void
  readonly onRevoke: (key: App.MemberApiKey) => void
}

const Networks = ({ list }: { readonly list: readonly string[] }) => (
  <ul className={styles.addresses}>
    {list.map((network) => (
      <li key={network}>
        <code>{network}</code>
      </li>
    ))}
  </ul>
)

function LastUse({ apiKey: { lastUsedAt, recentAddresses } }: { readonly apiKey: App.MemberApiKey }) {
  const text = useText(keysText)
  const format = useFormat()
  if (lastUsedAt === null) return text.never
  return (
    <div className={styles.uses}>
      {format.relative(lastUsedAt, Date.now())}
      {recentAddresses.length > 0 && (
        <ul className={styles.addresses} aria-label={text.addresses}>
          {recentAddresses.map((use) => (
            <li key={use.address}>
              <code>{use.address}</code> {format.relative(use.lastUsedAt, Date.now())}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

function KeyTable({ keys, onRoll, onRevoke }: KeyTableProps) {
  const text = useText(keysText)
  const format = useFormat()
  /** The hour matters to a key that ends soon. */
  const end = (at: string): string =>
    text.endsAt(Date.parse(at) - Date.now() > 2 * dayMs ? format.date(at) : format.dateTime(at))
  const stateOf = ({ revokedAt, expiresAt }: App.MemberApiKey) => {
    if (revokedAt !== null && Date.parse(revokedAt) <= Date.now()) return <Badge tone="bad">{text.revoked}</Badge>
    if (revokedAt !== null) return <Badge tone="warn">{end(revokedAt)}</Badge>
    if (expiresAt === null) return <Badge tone="good">{text.active}</Badge>
    const isOver = Date.parse(expiresAt) <= Date.now()
    return <Badge tone={isOver ? 'bad' : 'warn'}>{end(expiresAt)}</Badge>
  }
  const nameScopes = (given: readonly App.Scope[]): string =>
    scopes.every((scope) => given.includes(scope)) ? text.allScopes : given.join(', ')
  return (
    <Table
      label={text.title}
      rows={keys}
      keyOf={({ id }) => id}
      columns={[
        { name: text.name, cell: ({ name }) => name },
        {
          name: text.key,
          cell: ({ prefix, lastFour }) => <code className={styles.key}>{`${prefix}…${lastFour}`}</code>,
        },
        { name: text.scopes, cell: ({ scopes }) => nameScopes(scopes) },
        {
          name: text.networks,
          cell: ({ allowedNetworks }) =>
            allowedNetworks.length === 0 ? text.anyAddress : <Networks list={allowedNetworks} />,
        },
        { name: text.lastUsed, cell: (key) => <LastUse apiKey={key} /> },
        { name: text.state, cell: stateOf },
        {
          name: text.actions,
          isNameHidden: true,
          cell: (key) =>
            key.revokedAt === null && (
              <Menu
                label={text.actionsOf(key.name)}
                trigger="…"
                actions={[
                  { id: 'roll', label: text.roll, onAction: () => onRoll(key) },
                  { id: 'revoke', label: text.revoke, isDanger: true, onAction: () => onRevoke(key) },
                ]}
              />
            ),
        },
      ]}
    />
  )
}

const scopes = [
  'uploads:write',
  'tasks:read',
  'tasks:write',
  'batches:read',
  'batches:write',
  'webhooks:read',
  'webhooks:write',
  'webhooks:listen',
  'api-keys:read',
  'usage:read',
] as const satisfies readonly App.Scope[]

type CreateKeyProps = {
  readonly proposedName: string | undefined
  readonly onClose: () => void
  readonly onCreated: (key: string | undefined) => void
}

/** Longest life in days of a new key; null: no limit, or not known yet. The service decides. */
function useMaxKeyDays(): number | null {
  const app = useApp()
  const session = useSession()
  const teamId = session.kind === 'member' ? session.workspaceId : ''
  const team = useQuery({
    queryKey: ['team', teamId],
    queryFn: ({ signal }) => app.request('GET', '/app/teams/{teamId}', { path: { teamId }, signal }),
  })
  return team.data?.maxKeyDays ?? null
}

function CreateKeyDialog({ proposedName, onClose, onCreated }: CreateKeyProps) {
  const app = useApp()
  const format = useFormat()
  const text = useText(keysText)
  const ui = useText(uiText)
  const [name, setName] = useState(proposedName ?? '')
  const [chosen, setChosen] = useState<readonly App.Scope[]>(scopes.filter((scope) => scope !== 'webhooks:listen'))
  const [expires, setExpires] = useState('')
  const [networks, setNetworks] = useState('')
  const maxKeyDays = useMaxKeyDays()
  const keys = useRequestKey()
  const create = useAction(async () => {
    const expiresAt = expires === '' ? {} : { expiresAt: new Date(expires).toISOString() }
    const given = networks.split(/[\s,]+/).filter((network) => network !== '')
    const allowedNetworks = given.length === 0 ? {} : { allowedNetworks: given }
    const body = { name, scopes: [...chosen], ...expiresAt, ...allowedNetworks }
    const { key } = await app.request('POST', '/app/developer/api-keys', { body, idempotencyKey: keys.keyFor(body) })
    if (key === undefined) showProblem(text.keyLost)
    onCreated(key)
    onClose()
  }, ['name', 'expiresAt', 'scopes', 'allowedNetworks'])
  const toggle = (scope: App.Scope, isOn: boolean): void =>
    setChosen(scopes.filter((one) => (one === scope ? isOn : chosen.includes(one))))
  return (
    <Dialog title={text.create} isOpen onClose={onClose}>
      <Form onSubmit={create.run}>
        <AccessNote />
        <TextField
          label={text.name}
          hint={text.nameHint}
          value={name}
          onChange={setName}
          error={create.fieldError('name')}
          isRequired
          autoFocus
        />
        <fieldset className="plain">
          <legend>{text.scopes}</legend>
          <Stack>
            {scopes.map((scope) => (
              <CheckboxField key={scope} isSelected={chosen.includes(scope)} onChange={(isOn) => toggle(scope, isOn)}>
                <code>{scope}</code> {text.scopeHints[scope]}
              </CheckboxField>
            ))}
          </Stack>
        </fieldset>
        <TextField
          label={text.expires}
          hint={maxKeyDays === null ? text.expiresHint : text.expiresHintOfTeam(format.number(maxKeyDays))}
          type="datetime-local"
          value={expires}
          onChange={setExpires}
          error={create.fieldError('expiresAt')}
        />
        <TextField
          label={text.networks}
          hint={text.networksHint}
          autoComplete="off"
          rows={3}
          value={networks}
          onChange={setNetworks}
          error={create.fieldError('allowedNetworks')}
        />
        {create.error !== undefined && <ErrorNote error={create.error} />}
        <DialogActions>
          <Button onPress={onClose}>{ui.cancel}</Button>
          <Button type="submit" look="primary" isPending={create.isPending} isDisabled={chosen.length === 0}>
            {text.create}
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}

const overlaps = ['0', '3600', '86400', '604800'] as const

type RollKeyProps = {
  readonly apiKey: App.MemberApiKey
  readonly onClose: () => void
  readonly onRolled: (key: string | undefined) => void
}

function RollKeyDialog({ apiKey, onClose, onRolled }: RollKeyProps) {
  const app = useApp()
  const text = useText(keysText)
  const ui = useText(uiText)
  const [overlap, setOverlap] = useState<(typeof overlaps)[number]>('86400')
  const keys = useRequestKey()
  const roll = useAction(async () => {
    const options = { path: { apiKeyId: apiKey.id }, body: { overlapSeconds: Number(overlap) } }
    const idempotencyKey = keys.keyFor(options)
    const { key } = await app.request('POST', '/app/developer/api-keys/{apiKeyId}/roll', { ...options, idempotencyKey })
    if (key === undefined) showProblem(text.keyLost)
    onRolled(key)
    onClose()
  })
  return (
    <Dialog title={text.rollTitle(apiKey.name)} isOpen onClose={onClose}>
      <Form onSubmit={roll.run}>
        <p>{text.rollHint}</p>
        <SelectField
          label={text.overlap}
          value={overlap}
          onChange={setOverlap}
          choices={overlaps.map((value) => ({ value, label: text.overlaps[value] }))}
        />
        {roll.error !== undefined && <ErrorNote error={roll.error} />}
        <DialogActions>
          <Button onPress={onClose}>{ui.cancel}</Button>
          <Button type="submit" look="primary" isPending={roll.isPending}>
            {text.roll}
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
