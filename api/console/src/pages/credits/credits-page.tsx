import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { App } from 'matte-client/app'
import { useState } from 'react'
import { useApp, useSession } from '../../session/use-session.ts'
import { settingsQuery } from '../../settings.ts'
import { useFormat } from '../../text/format.ts'
import { useLocale, useText } from '../../text/text.ts'
import { Button, LinkButton } from '../../ui/button.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Card, Facts, Grid, Page } from '../../ui/page.tsx'
import { Paged } from '../../ui/paged.tsx'
import { Empty, ErrorNote, Loaded } from '../../ui/states.tsx'
import { Badge } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { showNote } from '../../ui/toasts.tsx'
import { useAction } from '../../ui/use-action.ts'
import { creditsText } from './credits-text.ts'

const writers = ['owner', 'admin', 'billing']
const payers = ['owner', 'billing']

/** Balance, lots and ledger of the workspace. */
export function CreditsPage() {
  const text = useText(creditsText)
  const session = useSession()
  const { data: settings } = useQuery(settingsQuery)
  const role = session.kind === 'member' ? session.role : ''
  return (
    <Page
      title={text.title}
      lede={text.lede}
      actions={
        payers.includes(role) &&
        settings?.payments !== 'none' && (
          <LinkButton to="/billing" look="primary">
            {text.buy}
          </LinkButton>
        )
      }
    >
      <Balance />
      <Grid>
        <Lots />
        {writers.includes(role) && <Alerts />}
      </Grid>
      <Ledger />
    </Page>
  )
}

function Balance() {
  const app = useApp()
  const text = useText(creditsText)
  const format = useFormat()
  const balance = useQuery({
    queryKey: ['credits', 'balance'],
    queryFn: () => app.request('GET', '/app/credits/balance'),
  })
  return (
    <Card>
      <Loaded query={balance} lines={2}>
        {({ available, held, expiringSoon, lowBalanceThreshold }) => (
          <Facts
            facts={[
              {
                name: text.available,
                value: (
                  <>
                    <strong className="figure">{format.number(available)}</strong>{' '}
                    {available < lowBalanceThreshold && <Badge tone="warn">{text.low}</Badge>}
                  </>
                ),
              },
              { name: text.held, value: <span className="figure">{format.number(held)}</span> },
              {
                name: text.expiringSoon(format.date(expiringSoon.before)),
                value: <span className="figure">{format.number(expiringSoon.amount)}</span>,
              },
            ]}
          />
        )}
      </Loaded>
    </Card>
  )
}

function Lots() {
  const app = useApp()
  const text = useText(creditsText)
  const format = useFormat()
  const kinds: Readonly<Record<string, string>> = text.kinds
  return (
    <Card title={text.lots} isFlush>
      <Paged<App.CreditLot>
        queryKey={['credits', 'lots']}
        read={(cursor) => app.request('GET', '/app/credits/lots', { query: cursor === undefined ? {} : { cursor } })}
        empty={<Empty title={text.noLots} />}
      >
        {(lots) => (
          <Table
            label={text.lots}
            rows={lots}
            keyOf={({ id }) => id}
            columns={[
              { name: text.source, cell: ({ kind }) => kinds[kind] ?? kind },
              { name: text.granted, isNumber: true, cell: ({ granted }) => format.number(granted) },
              { name: text.available, isNumber: true, cell: ({ available }) => format.number(available) },
              { name: text.ends, cell: ({ endsAt }) => (endsAt === null ? text.neverEnds : format.date(endsAt)) },
            ]}
          />
        )}
      </Paged>
    </Card>
  )
}

function Alerts() {
  const app = useApp()
  const text = useText(creditsText)
  const settings = useQuery({
    queryKey: ['credits', 'alerts'],
    queryFn: () => app.request('GET', '/app/credits/alert-settings'),
  })
  return (
    <Card title={text.alerts}>
      <Loaded query={settings}>{(data) => <AlertForm settings={data} />}</Loaded>
    </Card>
  )
}

function AlertForm({ settings }: { readonly settings: App.CreditAlertSettings }) {
  const app = useApp()
  const text = useText(creditsText)
  const queries = useQueryClient()
  const [threshold, setThreshold] = useState(String(settings.lowBalanceThreshold))
  const [days, setDays] = useState(String(settings.expiryDaysBefore))
  const save = useAction(async () => {
    const body = { lowBalanceThreshold: Number(threshold), expiryDaysBefore: Number(days) }
    queries.setQueryData(['credits', 'alerts'], await app.request('PUT', '/app/credits/alert-settings', { body }))
    void queries.invalidateQueries({ queryKey: ['credits', 'balance'] })
    showNote(text.saved)
  }, ['lowBalanceThreshold', 'expiryDaysBefore'])
  return (
    <Form onSubmit={save.run}>
      <TextField
        label={text.threshold}
        hint={text.thresholdHint}
        inputMode="numeric"
        value={threshold}
        onChange={setThreshold}
        error={save.fieldError('lowBalanceThreshold')}
      />
      <TextField
        label={text.daysBefore}
        inputMode="numeric"
        value={days}
        onChange={setDays}
        error={save.fieldError('expiryDaysBefore')}
      />
      {save.error !== undefined && <ErrorNote error={save.error} />}
      <div>
        <Button type="submit" isPending={save.isPending}>
          {text.save}
        </Button>
      </div>
    </Form>
  )
}

type LedgerType = App.CreditLedgerEntry['type']
const ledgerTypes = ['grant', 'hold', 'capture', 'release', 'expire', 'refund', 'adjust'] as const

function Ledger() {
  const app = useApp()
  const text = useText(creditsText)
  const format = useFormat()
  const locale = useLocale()
  const [type, setType] = useState<LedgerType | ''>('')
  const ofOrder: Readonly<Record<string, string>> = text.ofOrder
  /** The service writes English. The reason of an adjustment is an operator's own words. */
  const describe = ({ type, description, taskId, orderId }: App.CreditLedgerEntry): string => {
    if (locale === 'en' || type === 'adjust') return description
    if (taskId !== null) return text.task
    return (orderId === null ? undefined : ofOrder[type]) ?? text.types[type]
  }
  const sign = (amount: number): string => (amount > 0 ? `+${format.number(amount)}` : format.number(amount))
  return (
    <Card
      title={text.ledger}
      actions={
        <SelectField
          label={text.type}
          isLabelHidden
          value={type}
          onChange={setType}
          choices={[
            { value: '' as const, label: text.allTypes },
            ...ledgerTypes.map((value) => ({ value, label: text.types[value] })),
          ]}
        />
      }
      isFlush
    >
      <Paged<App.CreditLedgerEntry>
        queryKey={['credits', 'ledger', type]}
        read={(cursor) => {
          const query = { ...(type !== '' && { type }), ...(cursor !== undefined && { cursor }) }
          return app.request('GET', '/app/credits/ledger', { query })
        }}
        empty={<Empty title={text.noEntries} />}
      >
        {(entries) => (
          <Table
            label={text.ledger}
            rows={entries}
            keyOf={({ id }) => id}
            columns={[
              { name: text.time, cell: ({ createdAt }) => format.dateTime(createdAt) },
              { name: text.type, cell: (entry) => text.types[entry.type] },
              {
                name: text.description,
                cell: (entry) =>
                  entry.taskId === null ? (
                    describe(entry)
                  ) : (
                    <Link to="/tasks/$taskId" params={{ taskId: entry.taskId }}>
                      {describe(entry)}
                    </Link>
                  ),
              },
              { name: text.change, isNumber: true, cell: ({ amount }) => sign(amount) },
              { name: text.after, isNumber: true, cell: ({ balanceAfter }) => format.number(balanceAfter) },
            ]}
          />
        )}
      </Paged>
    </Card>
  )
}
