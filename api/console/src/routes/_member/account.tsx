import { createFileRoute } from '@tanstack/react-router'
import { AccountPage } from '../../pages/account/account-page.tsx'
import { readTab } from '../../ui/read-tab.ts'

export const Route = createFileRoute('/_member/account')({ component: AccountPage, validateSearch: readTab })
