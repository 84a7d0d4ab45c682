import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Card, Page } from '../../ui/page.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Badge } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { operatorText } from './operator-text.ts'
import { RunbookLink } from './runbook-link.tsx'
import { useInvariants, useOverdue } from './use-operator.ts'

/** Late work, and invariants of the data. */
export function HealthPage() {
  const text = useText(operatorText)
  const format = useFormat()
  const overdue = useOverdue()
  const invariants = useInvariants()
  return (
    <Page title={text.health} lede={text.healthLede}>
      <Card title={text.overdue} isFlush>
        <Loaded query={overdue} lines={8}>
          {({ items }) => (
            <Table
              label={text.overdue}
              rows={items}
              keyOf={({ what }) => what}
              columns={[
                { name: text.dueWork, cell: ({ what }) => text.due[what] },
                {
                  name: text.state,
                  cell: ({ isLate }) => (
                    <Badge tone={isLate ? 'bad' : 'good'}>{isLate ? text.late : text.onTime}</Badge>
                  ),
                },
                { name: text.age, isNumber: true, cell: ({ ageSeconds }) => format.duration(ageSeconds * 1_000) },
                {
                  name: text.lateAfter,
                  isNumber: true,
                  cell: ({ lateAfterSeconds }) => format.duration(lateAfterSeconds * 1_000),
                },
                {
                  name: text.waiting,
                  isNumber: true,
                  cell: ({ waiting }) => (waiting === null ? '–' : format.number(waiting)),
                },
                { name: text.runbook, cell: ({ isLate, runbook }) => isLate && <RunbookLink name={runbook} /> },
              ]}
            />
          )}
        </Loaded>
      </Card>
      <Card title={text.invariants} isFlush>
        <Loaded query={invariants} lines={6}>
          {({ items }) => (
            <Table
              label={text.invariants}
              rows={items}
              keyOf={({ invariant }) => invariant}
              columns={[
                { name: text.invariant, cell: ({ description }) => description },
                {
                  name: text.state,
                  cell: ({ ok }) => <Badge tone={ok ? 'good' : 'bad'}>{ok ? text.holds : text.broken}</Badge>,
                },
                { name: text.violations, isNumber: true, cell: ({ violations }) => format.number(violations) },
                { name: text.ids, cell: ({ ids }) => ids.join(', ') || '–' },
                { name: text.runbook, cell: ({ runbook }) => <RunbookLink name={runbook} /> },
              ]}
            />
          )}
        </Loaded>
      </Card>
    </Page>
  )
}
