// Makes the sections of one view of the status page, and what has changed in them since the last time.

import type { Work } from '../../../kit/turns.js'
import type { StatusReport } from '../status-report.js'
import { attentionSection } from './attention-section.js'
import { decisionsSection, type DecisionsShown } from './decisions-section.js'
import type { PageQuery } from './page-query.js'
import type { MappedRoute } from './route-map.js'
import { routesSection } from './routes-section.js'
import type { Section } from './section.js'
import { envoysSection, remoteSection, resourcesSection } from './state-sections.js'
import { summarySection } from './summary-section.js'

/** All that the page shows. */
export interface PageState extends DecisionsShown {
  readonly report: StatusReport
  readonly routes: readonly MappedRoute[]
}

/** Returns the sections in the order of the page. */
export function* pageSections(state: PageState, query: PageQuery): Work<readonly Section[]> {
  const { report, routes } = state
  const { search } = query
  return [
    yield* summarySection(report, routes),
    yield* attentionSection(report, search),
    yield* routesSection(routes, report, query),
    decisionsSection(state, query),
    remoteSection(report.remote, search),
    envoysSection(report, search),
    yield* resourcesSection(report.resources, query),
  ]
}

/** What has changed in a section; an absent part has not. */
export interface SectionChange {
  readonly id: string
  readonly note?: string
  readonly foot?: string
  /** Keys of all items, in order. */
  readonly keys?: readonly string[]
  /** HTML of new and changed items by key. */
  readonly items?: Readonly<Record<string, string>>
}

/** Remembers what a visitor has been sent. */
export class SentSections {
  readonly #sent = new Map<string, SentSection>()

  /** Returns what to send so that the visitor sees these sections. */
  update(sections: readonly Section[]): readonly SectionChange[] {
    return sections.flatMap((section) => {
      const before = this.#sent.get(section.id) ?? UNSENT
      const now = sentOf(section)
      this.#sent.set(section.id, now)
      return changeOf(section.id, before, now) ?? []
    })
  }
}

interface SentSection {
  readonly note?: string
  readonly foot?: string
  readonly items: ReadonlyMap<string, string>
}

const UNSENT: SentSection = { items: new Map() }

const sentOf = ({ note, foot, items }: Section): SentSection => ({
  note: note.text,
  foot: foot.text,
  items: new Map(items.map(({ key, html }) => [key, html.text])),
})

function changeOf(
  id: string,
  before: SentSection,
  { note = '', foot = '', items }: SentSection,
): SectionChange | undefined {
  const changed = [...items].filter(([key, html]) => before.items.get(key) !== html)
  const isFirst = before === UNSENT
  const isOrderNew = [...items.keys()].join('\n') !== [...before.items.keys()].join('\n')
  const change: SectionChange = {
    id,
    ...(note !== before.note && { note }),
    ...(foot !== before.foot && { foot }),
    ...((isFirst || isOrderNew) && { keys: [...items.keys()] }),
    ...(changed.length > 0 && { items: Object.fromEntries(changed) }),
  }
  return Object.keys(change).length === 1 ? undefined : change
}
