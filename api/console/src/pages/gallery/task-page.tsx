import { Page } from '../../ui/page.tsx'

export const TaskPage = () => <Page title="Task">…</Page>
