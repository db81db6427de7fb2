/**
 * The page at /docs: the description of the interface to read, search and try. All of it is here; it fetches nothing
 * but that.
 */
import { createHash } from "node:crypto"

const style = `
:root{color-scheme:light dark;--ink:#1d2327;--dim:#667;--line:#d6dadf;--paper:#fff;--panel:#f5f6f8;--accent:#07683a;--get:#0062ab;--post:#07682f;--put:#854d00;--delete:#b01c1c}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8ea;--dim:#99a;--line:#343a42;--paper:#16191d;--panel:#1e2227;--get:#5af;--post:#4c8;--put:#fb5;--delete:#f77}}
*{box-sizing:border-box}body{margin:0;font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);display:grid;grid-template-columns:20rem 1fr;height:100vh}
nav{border-right:1px solid var(--line);overflow:auto;padding:1rem;background:var(--panel)}main{overflow:auto;padding:1.5rem 2rem;max-width:62rem}
input,textarea{width:100%;font:inherit;padding:.4rem .5rem;border:1px solid var(--line);border-radius:4px;background:var(--paper);color:inherit}textarea{font-family:ui-monospace,monospace;min-height:7rem}
nav h2{font-size:.8rem;text-transform:uppercase;letter-spacing:.05em;color:var(--dim);margin:1.2rem 0 .2rem}nav a{display:block;color:inherit;text-decoration:none;padding:.12rem .3rem;border-radius:3px;font-size:.9rem}
nav a:hover,nav a:focus{background:var(--line)}b.m{display:inline-block;min-width:3.4rem;font:600 .75rem ui-monospace,monospace}.get{color:var(--get)}.post{color:var(--post)}.put,.patch{color:var(--put)}.delete{color:var(--delete)}
h1{font-size:1.3rem;margin:0 0 .3rem}main h2{margin:1.4rem 0 .4rem;font-size:1rem}code,pre{font:.88rem/1.45 ui-monospace,monospace}pre{background:var(--panel);border:1px solid var(--line);border-radius:4px;padding:.7rem;overflow:auto;max-height:30rem}
table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.3rem .6rem .3rem 0;border-bottom:1px solid var(--line)}th{color:var(--dim);font-weight:500}
button{font:inherit;padding:.4rem 1rem;border:1px solid var(--line);border-radius:4px;background:var(--accent);color:#fff;cursor:pointer}.dim{color:var(--dim)}@media(max-width:50rem){body{grid-template-columns:1fr;height:auto}nav{max-height:40vh}}
`
const script = `
const make=(tag,props,...inner)=>{const e=document.createElement(tag);Object.assign(e,props||{});e.append(...inner);return e}
const nav=document.querySelector("#list"),main=document.querySelector("main"),find=document.querySelector("#find"),token=document.querySelector("#token")
const kind=s=>!s||typeof s!=="object"?"":s.$ref?s.$ref.split("/").pop():s.enum?s.enum.map(String).join(" | "):s.anyOf?s.anyOf.map(kind).join(" | "):Array.isArray(s.type)?s.type.map(t=>t==="array"&&s.items?kind(s.items)+"[]":t).join(" | "):s.type==="array"?kind(s.items)+"[]":(s.type||"any")+(s.format?" ("+s.format+")":"")
const table=(heads,rows)=>make("table",{},make("thead",{},make("tr",{},...heads.map(h=>make("th",{textContent:h})))),make("tbody",{},...rows.map(r=>make("tr",{},...r.map((c,i)=>make("td",{},i===0?make("code",{textContent:c}):c))))))
const fields=(schema)=>Object.entries(schema.properties||{}).map(([name,s])=>[name+((schema.required||[]).includes(name)?" *":""),kind(s),s.description||""])
fetch("/api/v1/openapi.json").then(r=>r.json()).then(api=>{
 const all=Object.entries(api.paths).flatMap(([path,ops])=>Object.entries(ops).map(([method,op])=>({path,method,op})))
 const show=()=>{const words=find.value.toLowerCase().split(/\\s+/).filter(Boolean);nav.replaceChildren()
  for(const tag of api.tags){const hits=all.filter(o=>o.op.tags[0]===tag.name&&words.every(w=>(o.path+" "+o.method+" "+o.op.summary+" "+tag.name).toLowerCase().includes(w)))
   if(hits.length)nav.append(make("h2",{textContent:tag.name}),...hits.map(o=>make("a",{href:"#"+o.op.operationId,title:o.op.summary},make("b",{className:"m "+o.method,textContent:o.method.toUpperCase()}),o.path.replace("/api/v1",""))))}}
 const open=()=>{const id=decodeURIComponent(location.hash.slice(1)),o=all.find(o=>o.op.operationId===id);if(!o)return
  const {path,method,op}=o,sent=op.requestBody&&op.requestBody.content["application/json"],body=sent&&sent.schema,sample=sent&&sent.example
  const inputs=(op.parameters||[]).filter(p=>p.in==="path").map(p=>[p.name,make("input",{placeholder:p.name,ariaLabel:p.name})]),query=make("input",{placeholder:"page=2&q[name_cont]=x",ariaLabel:"Query"}),text=make("textarea",{spellcheck:false,ariaLabel:"Body",value:body?JSON.stringify(Object.fromEntries((body.required||[]).map(n=>[n,(sample||{})[n]])),null,2):""}),out=make("pre",{hidden:true})
  const send=async()=>{let url=path;for(const[n,i]of inputs)url=url.replace("{"+n+"}",encodeURIComponent(i.value));if(query.value)url+="?"+query.value
   out.hidden=false;out.textContent="…";try{const r=await fetch(url,{method:method.toUpperCase(),headers:{...(token.value?{authorization:"Bearer "+token.value}:{}),...(body?{"content-type":"application/json"}:{})},...(body?{body:text.value}:{})})
   const t=await r.text();let shown=t;try{shown=JSON.stringify(JSON.parse(t),null,2)}catch{}out.textContent=r.status+" "+r.statusText+"\\n"+[...r.headers].map(([k,v])=>k+": "+v).join("\\n")+"\\n\\n"+shown}catch(e){out.textContent=String(e)}}
  main.replaceChildren(make("h1",{textContent:op.summary}),make("p",{},make("b",{className:"m "+method,textContent:method.toUpperCase()}),make("code",{textContent:path})),make("p",{className:"dim",textContent:op.description||(op.security.length?"":"No token needed.")}))
  const params=(op.parameters||[]);if(params.length)main.append(make("h2",{textContent:"Parameters"}),table(["Name","Kind","What"],params.map(p=>[p.name+(p.required?" *":""),kind(p.schema),p.description||p.in])))
  if(body&&Object.keys(body.properties||{}).length)main.append(make("h2",{textContent:"Body"}),table(["Field","Kind","What"],fields(body)))
  main.append(make("h2",{textContent:"Answers"}),table(["Status","What","Body"],Object.entries(op.responses).map(([s,r])=>{const full=r.$ref?api.components.responses[s]:r;const c=full.content&&Object.values(full.content)[0];const any=c&&c.schema,sc=any&&any.anyOf?any.anyOf[0]:any;return[s,full.description,sc?(sc.properties?Object.entries(sc.properties).map(([n,v])=>n+": "+kind(v)).join(", "):kind(sc)):""]})))
  const seen=new Set();for(const r of Object.values(op.responses))for(const m of JSON.stringify(r).matchAll(/schemas\\/(\\w+)/g))if(!["Message","Invalid","Meta"].includes(m[1])&&!seen.has(m[1])){seen.add(m[1]);main.append(make("h2",{textContent:m[1]}),table(["Field","Kind","What"],fields(api.components.schemas[m[1]])))}
  main.append(make("h2",{textContent:"Try it"}),...inputs.map(([,i])=>make("p",{},i)),...(method==="get"?[make("p",{},query)]:[]),...(body?[make("p",{},text)]:[]),make("p",{},make("button",{textContent:"Send",onclick:send})),out);main.scrollTop=0}
 token.form.onsubmit=e=>e.preventDefault();find.oninput=show;addEventListener("hashchange",open);show();open()
}).catch(e=>{main.textContent="The description could not be read: "+e})
`
const sourceOf = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`

let page: { readonly html: string; readonly policy: string } | undefined

/** The page, and the policy that lets it run its own script and nothing else. Made when first asked for. */
export const docsPage = (): { readonly html: string; readonly policy: string } =>
  (page ??= {
    html:
      `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Flightcase API</title><style>${style}</style></head><body>` +
      `<nav><h1>Flightcase API</h1><p><input id="find" placeholder="Search" aria-label="Search" autofocus></p><form><p><input id="token" type="password" placeholder="Token to try with" aria-label="Token" autocomplete="off"></p></form><div id="list"></div>` +
      `<p class="dim"><a href="/api/v1/openapi.json">openapi.json</a></p></nav><main><h1>Choose an operation</h1><p class="dim">Every operation of this server, described by the tables it answers from.</p></main><script>${script}</script></body></html>`,
    policy: `default-src 'none'; script-src ${sourceOf(script)}; style-src ${sourceOf(style)}; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
  })
