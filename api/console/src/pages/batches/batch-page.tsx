import { Page } from '../../ui/page.tsx'

export const BatchPage = () => <Page title="Batch">…</Page>
