import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useSwitchWorkspace } from '../../app/use-switch-workspace.ts'
import { useApp } from '../../session/use-session.ts'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { Card, Page } from '../../ui/page.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'
import { showError } from '../../ui/toasts.tsx'
import { CreateTeamDialog } from './create-team-dialog.tsx'
import { RetentionCard } from './retention-card.tsx'
import { teamText } from './team-text.ts'

export function PersonalPage() {
  const text = useText(teamText)
  const app = useApp()
  const format = useFormat()
  const switchTo = useSwitchWorkspace()
  const [isCreating, setIsCreating] = useState(false)
  const teams = useQuery({
    queryKey: ['teams'],
    queryFn: ({ signal }) => app.request('GET', '/app/teams', { signal }),
  })
  return (
    <Page title={text.title}>
      <Card>
        <Empty
          title={text.personal.title}
          action={
            <Button look="primary" onPress={() => setIsCreating(true)}>
              {text.create.submit}
            </Button>
          }
        >
          {text.personal.lede}
        </Empty>
      </Card>
      <Loaded query={teams}>
        {({ items }) =>
          items.length === 0 ? null : (
            <Card title={text.personal.yours} isFlush>
              <Table
                label={text.personal.yours}
                rows={items}
                keyOf={({ id }) => id}
                columns={[
                  { name: text.create.name, cell: ({ name }) => name },
                  { name: text.members.role, cell: ({ role }) => text.roles[role] },
                  {
                    name: text.members.title,
                    cell: ({ memberCount }) => text.personal.count(format.number(memberCount)),
                  },
                  {
                    name: text.personal.open,
                    isNameHidden: true,
                    isNumber: true,
                    cell: ({ id }) => (
                      <Button size="small" onPress={() => void switchTo(id).catch(showError)}>
                        {text.personal.open}
                      </Button>
                    ),
                  },
                ]}
              />
            </Card>
          )
        }
      </Loaded>
      <RetentionCard />
      {isCreating && <CreateTeamDialog onClose={() => setIsCreating(false)} />}
    </Page>
  )
}
