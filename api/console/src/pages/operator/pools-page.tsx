import { Page } from '../../ui/page.tsx'

export const PoolsPage = () => <Page title="Pools">…</Page>
