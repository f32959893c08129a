// The script of the status page, which runs in browsers: applies the changes that the server sends, searches while the
// visitor types, and shows times as ages. Without it the page is complete, but stands still.

interface SectionChange {
  readonly id: string
  readonly note?: string
  readonly foot?: string
  readonly keys?: readonly string[]
  readonly items?: Readonly<Record<string, string>>
}

const TYPING_MS = 250
const RETRY_MS = 10_000
const LOST_MS = 4_000
const AGES_MS = 5_000
const FOCUSABLE = 'a, button, summary, input'

const status = document.querySelector<HTMLElement>('#live')
const pause = document.querySelector<HTMLButtonElement>('#pause')
const search = document.querySelector<HTMLInputElement>('#search')

let source: EventSource | undefined
let typing: ReturnType<typeof setTimeout> | undefined

/** Opens the stream of the view that the address names; its first event has the whole view. */
function connect(): void {
  source?.close()
  const opened = new EventSource(`/events${location.search}`)
  source = opened
  let isFirst = true
  opened.addEventListener('message', ({ data }: MessageEvent<string>) => {
    const changes = JSON.parse(data) as readonly SectionChange[]
    for (const change of changes) apply(change, !isFirst)
    if (isFirst && location.hash !== '')
      document.getElementById(location.hash.slice(1))?.scrollIntoView()
    isFirst = false
    showAges()
    say('live', search?.value ? 'Live, searching' : 'Live')
  })
  opened.addEventListener('error', () => {
    if (opened !== source) return
    isFirst = true
    setTimeout(reportLoss, LOST_MS, opened)
    if (opened.readyState === EventSource.CLOSED) setTimeout(retry, RETRY_MS, opened)
  })
}

/** The server ends each stream after some minutes; the browser then connects again, which is no loss. */
function reportLoss(failed: EventSource): void {
  if (failed === source && failed.readyState !== EventSource.OPEN) say('lost', 'Connection lost')
}

function retry(failed: EventSource): void {
  if (failed === source) connect()
}

function say(state: string, text: string): void {
  if (status === null) return
  status.dataset['state'] = state
  if (status.textContent !== text) status.textContent = text
}

function apply({ id, note, foot, keys, items = {} }: SectionChange, marksNew: boolean): void {
  const section = document.getElementById(id)
  if (section === null) return
  if (note !== undefined) replaceContent(section.querySelector('[data-note]'), note)
  if (foot !== undefined) replaceContent(section.querySelector('[data-foot]'), foot)
  const list = section.querySelector('[data-items]')
  if (list === null) return
  const shown = new Map(Array.from(list.children, (item) => [item.getAttribute('data-key'), item]))
  for (const [key, html] of Object.entries(items)) {
    const before = shown.get(key)
    const item = parsed(html, list)
    if (item === undefined) continue
    if (before === undefined && marksNew) item.classList.add('fresh')
    shown.set(key, item)
    if (before !== undefined) replaceItem(before, item)
  }
  if (keys !== undefined)
    arrange(
      list,
      keys.flatMap((key) => shown.get(key) ?? []),
    )
}

/** Removes and moves only what is not in its place, for the focus to stay. */
function arrange(list: Element, items: readonly Element[]): void {
  const kept = new Set(items)
  for (const item of Array.from(list.children)) if (!kept.has(item)) item.remove()
  items.forEach((item, index) => {
    if (list.children[index] !== item) list.insertBefore(item, list.children[index] ?? null)
  })
}

/** Parses an item as a child of its list: rows exist only in tables. */
function parsed(html: string, list: Element): Element | undefined {
  const template = document.createElement('template')
  template.innerHTML = list.tagName === 'TBODY' ? `<table><tbody>${html}</tbody></table>` : html
  const root = template.content
  return (list.tagName === 'TBODY' ? root.querySelector('tr') : root.firstElementChild) ?? undefined
}

function replaceContent(place: Element | null, html: string): void {
  if (place === null) return
  const focus = focusIn(place)
  place.innerHTML = html
  restoreFocus(place, focus)
}

function replaceItem(before: Element, item: Element): void {
  const details = item.querySelector('details')
  if (details !== null && before.querySelector('details')?.open === true) details.open = true
  const focus = focusIn(before)
  before.replaceWith(item)
  restoreFocus(item, focus)
}

const focusIn = (place: Element): number =>
  Array.from(place.querySelectorAll(FOCUSABLE)).indexOf(document.activeElement ?? document.body)

function restoreFocus(place: Element, index: number): void {
  if (index >= 0)
    place.querySelectorAll<HTMLElement>(FOCUSABLE)[index]?.focus({ preventScroll: true })
}

function showAges(): void {
  for (const time of document.querySelectorAll('time')) {
    const text = ageOf(Date.parse(time.dateTime))
    if (time.textContent !== text) time.textContent = text
  }
}

function ageOf(at: number): string {
  const seconds = Math.max(0, Math.round((Date.now() - at) / 1000))
  if (seconds < 90) return `${seconds} s ago`
  const minutes = Math.round(seconds / 60)
  if (minutes < 90) return `${minutes} min ago`
  const hours = Math.round(minutes / 60)
  return hours < 36 ? `${hours} h ago` : `${Math.round(hours / 24)} days ago`
}

/** Shows another view without loading the page again. */
function show(address: URL): void {
  history.pushState(null, '', address)
  if (search !== null) search.value = address.searchParams.get('q') ?? ''
  if (address.hash === '') document.querySelector('#main')?.scrollIntoView()
  resume()
}

function resume(): void {
  pause?.setAttribute('aria-pressed', 'false')
  connect()
}

function searchNow(): void {
  const address = new URL('/', location.href)
  if (search !== null && search.value !== '') address.searchParams.set('q', search.value)
  history.replaceState(null, '', address)
  resume()
}

async function copyNear(button: HTMLElement): Promise<void> {
  const command = button.parentElement?.querySelector('.command')?.textContent ?? ''
  try {
    await navigator.clipboard.writeText(command)
    button.textContent = 'Copied'
  } catch {
    button.textContent = 'Copy it by hand'
  }
}

document.addEventListener('click', (event) => {
  const target = event.target instanceof Element ? event.target : null
  const copy = target?.closest<HTMLElement>('[data-copy]')
  if (copy) return void copyNear(copy)
  const link = target?.closest<HTMLAnchorElement>('a[data-view]')
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return
  event.preventDefault()
  show(new URL(link.href))
})

document.addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof HTMLInputElement
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
  event.preventDefault()
  search?.focus()
})

search?.addEventListener('input', () => {
  clearTimeout(typing)
  typing = setTimeout(searchNow, TYPING_MS)
})

search?.form?.addEventListener('submit', (event) => {
  event.preventDefault()
  clearTimeout(typing)
  searchNow()
})

pause?.addEventListener('click', () => {
  const isPaused = pause.getAttribute('aria-pressed') === 'true'
  if (isPaused) return resume()
  pause.setAttribute('aria-pressed', 'true')
  source?.close()
  source = undefined
  say('paused', 'Paused')
})

addEventListener('popstate', () => {
  if (search !== null) search.value = new URLSearchParams(location.search).get('q') ?? ''
  resume()
})

document.documentElement.classList.add('js')
setInterval(showAges, AGES_MS)
showAges()
connect()
