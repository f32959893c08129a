// What a status page shows, for tests of the page itself.

import type { PageState } from '../../src/ops/admin/page/page-view.js'
import type { MappedRoute } from '../../src/ops/admin/page/route-map.js'
import type { StatusReport } from '../../src/ops/admin/status-report.js'

/** A report of a Gatehouse that serves and has read nothing. */
export const emptyReport = (over: Partial<StatusReport> = {}): StatusReport => ({
  ready: true,
  reasons: [],
  revision: 'abc',
  resources: [],
  envoys: [],
  remote: [],
  ...over,
})

export const pageState = (over: Partial<PageState> = {}): PageState => ({
  report: emptyReport(),
  routes: [],
  decisions: [],
  explain: { address: '127.0.0.1:18001', needsToken: false, isTls: false },
  ...over,
})

/** A guarded route without policies. */
export const mappedRoute = (name: string, over: Partial<MappedRoute> = {}): MappedRoute => ({
  name,
  isOpen: false,
  isRefusing: false,
  guards: [],
  places: { first: [], count: 0 },
  policies: [],
  issuers: [],
  webhooks: [],
  ...over,
})
