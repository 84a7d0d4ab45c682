// Folders that this browser uploads, and the batches that programs created.
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useService } from '../../session/use-session.ts'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { Card, Page } from '../../ui/page.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Badge } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { showError } from '../../ui/toasts.tsx'
import { uiText } from '../../ui/ui-text.ts'
import { useMayChange } from '../gallery/selection-bar.tsx'
import styles from './batches.module.css'
import { batchesText } from './batches-text.ts'
import { FolderPicker } from './folder-picker.tsx'
import type { Folder } from './photos.ts'
import { RunCard } from './run-card.tsx'
import { useRuns } from './use-runs.ts'

export function BatchesPage() {
  const text = useText(batchesText)
  const service = useService()
  const mayChange = useMayChange()
  const { runs, list, scope } = useRuns()
  const [folder, setFolder] = useState<Folder>()
  const start = async (chosen: Folder): Promise<void> => {
    setFolder(undefined)
    try {
      await runs.start(service, await scope(), chosen)
    } catch (error) {
      showError(error)
    }
  }
  return (
    <Page title={text.title} lede={text.lede}>
      {mayChange &&
        (folder === undefined ? (
          <FolderPicker onFolder={setFolder} />
        ) : (
          <Ready folder={folder} onStart={() => void start(folder)} onCancel={() => setFolder(undefined)} />
        ))}
      {list.length > 0 && (
        <>
          <h2>{text.runs}</h2>
          {list.map((run) => (
            <RunCard key={run.id} run={run} runs={runs} />
          ))}
        </>
      )}
      <WorkspaceBatches />
    </Page>
  )
}

type ReadyProps = { readonly folder: Folder; readonly onStart: () => void; readonly onCancel: () => void }

function Ready({ folder, onStart, onCancel }: ReadyProps) {
  const text = useText(batchesText)
  const format = useFormat()
  const { photos, otherCount, tooLargeCount } = folder
  const count = format.number(photos.length)
  const size = format.bytes(photos.reduce((sum, { file }) => sum + file.size, 0))
  return (
    <Card title={folder.name}>
      <div className={styles.run}>
        <p className={styles.drop}>{text.ready(count, size)}</p>
        {otherCount > 0 && <p>{text.others(format.number(otherCount))}</p>}
        {tooLargeCount > 0 && <p>{text.tooLarge(format.number(tooLargeCount))}</p>}
        <p className={styles.soft}>{text.price(count)}</p>
        <div className={styles.actions}>
          <Button look="primary" onPress={onStart} autoFocus>
            {text.start}
          </Button>
          <Button look="quiet" onPress={onCancel}>
            {text.notNow}
          </Button>
        </div>
      </div>
    </Card>
  )
}

const openEveryMs = 5_000

function WorkspaceBatches() {
  const text = useText(batchesText)
  const ui = useText(uiText)
  const format = useFormat()
  const service = useService()
  const query = useInfiniteQuery({
    queryKey: ['batches', 'list'],
    queryFn: ({ pageParam, signal }) =>
      service.batches.list(pageParam === undefined ? {} : { cursor: pageParam }, { signal }).page(),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    refetchInterval: ({ state: { data } }) =>
      data?.pages.length === 1 && data.pages[0]?.items.some(({ status }) => status === 'processing')
        ? openEveryMs
        : false,
  })
  const rows = query.data?.pages.flatMap(({ items }) => items) ?? []
  return (
    <Card title={text.ofWorkspace} isFlush={rows.length > 0}>
      <Loaded query={query} lines={4}>
        {() =>
          rows.length === 0 ? (
            <Empty title={text.none}>{text.noneLede}</Empty>
          ) : (
            <Table
              label={text.ofWorkspace}
              rows={rows}
              keyOf={({ id }) => id}
              columns={[
                {
                  name: text.batch,
                  cell: ({ id }) => (
                    <Link to="/batches/$batchId" params={{ batchId: id }}>
                      {id.slice(0, 8)}
                    </Link>
                  ),
                },
                {
                  name: text.status,
                  cell: ({ status }) => (
                    <Badge tone={status === 'completed' ? 'good' : 'active'}>{text.statuses[status]}</Badge>
                  ),
                },
                { name: text.total, isNumber: true, cell: ({ totalCount }) => format.number(totalCount) },
                { name: text.succeeded, isNumber: true, cell: (batch) => format.number(batch.succeededCount) },
                { name: text.failed, isNumber: true, cell: (batch) => format.number(batch.failedCount) },
                { name: text.canceled, isNumber: true, cell: (batch) => format.number(batch.canceledCount) },
                { name: text.model, cell: ({ modelVersion }) => modelVersion },
                { name: text.created, cell: ({ createdAt }) => format.dateTime(createdAt) },
              ]}
            />
          )
        }
      </Loaded>
      {query.hasNextPage && (
        <div className={styles.more}>
          <Button isPending={query.isFetchingNextPage} onPress={() => void query.fetchNextPage()}>
            {ui.more}
          </Button>
        </div>
      )}
    </Card>
  )
}
