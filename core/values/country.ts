/** Countries: ISO 3166 codes, the currency in use and the telephone prefix (rules/conventions 17). */

interface Country {
  readonly code: string
  readonly code3: string
  readonly name: string
  /** ISO 4217; null where there are no inhabitants. */
  readonly currency_code: string | null
  readonly phone_prefix: string
}

// code, code3, currency, prefix, name
const lines = `
AD AND EUR +376 Andorra
AE ARE AED +971 United Arab Emirates
AF AFG AFN +93 Afghanistan
AG ATG XCD +1 Antigua and Barbuda
AI AIA XCD +1 Anguilla
AL ALB ALL +355 Albania
AM ARM AMD +374 Armenia
AO AGO AOA +244 Angola
AQ ATA - +672 Antarctica
AR ARG ARS +54 Argentina
AS ASM USD +1 American Samoa
AT AUT EUR +43 Austria
AU AUS AUD +61 Australia
AW ABW AWG +297 Aruba
AX ALA EUR +358 Åland Islands
AZ AZE AZN +994 Azerbaijan
BA BIH BAM +387 Bosnia and Herzegovina
BB BRB BBD +1 Barbados
BD BGD BDT +880 Bangladesh
BE BEL EUR +32 Belgium
BF BFA XOF +226 Burkina Faso
BG BGR EUR +359 Bulgaria
BH BHR BHD +973 Bahrain
BI BDI BIF +257 Burundi
BJ BEN XOF +229 Benin
BL BLM EUR +590 Saint Barthélemy
BM BMU BMD +1 Bermuda
BN BRN BND +673 Brunei
BO BOL BOB +591 Bolivia
BQ BES USD +599 Bonaire, Sint Eustatius and Saba
BR BRA BRL +55 Brazil
BS BHS BSD +1 Bahamas
BT BTN BTN +975 Bhutan
BV BVT NOK +47 Bouvet Island
BW BWA BWP +267 Botswana
BY BLR BYN +375 Belarus
BZ BLZ BZD +501 Belize
CA CAN CAD +1 Canada
CC CCK AUD +61 Cocos (Keeling) Islands
CD COD CDF +243 Congo (Democratic Republic)
CF CAF XAF +236 Central African Republic
CG COG XAF +242 Congo (Republic)
CH CHE CHF +41 Switzerland
CI CIV XOF +225 Côte d'Ivoire
CK COK NZD +682 Cook Islands
CL CHL CLP +56 Chile
CM CMR XAF +237 Cameroon
CN CHN CNY +86 China
CO COL COP +57 Colombia
CR CRI CRC +506 Costa Rica
CU CUB CUP +53 Cuba
CV CPV CVE +238 Cabo Verde
CW CUW XCG +599 Curaçao
CX CXR AUD +61 Christmas Island
CY CYP EUR +357 Cyprus
CZ CZE CZK +420 Czechia
DE DEU EUR +49 Germany
DJ DJI DJF +253 Djibouti
DK DNK DKK +45 Denmark
DM DMA XCD +1 Dominica
DO DOM DOP +1 Dominican Republic
DZ DZA DZD +213 Algeria
EC ECU USD +593 Ecuador
EE EST EUR +372 Estonia
EG EGY EGP +20 Egypt
EH ESH MAD +212 Western Sahara
ER ERI ERN +291 Eritrea
ES ESP EUR +34 Spain
ET ETH ETB +251 Ethiopia
FI FIN EUR +358 Finland
FJ FJI FJD +679 Fiji
FK FLK FKP +500 Falkland Islands
FM FSM USD +691 Micronesia
FO FRO DKK +298 Faroe Islands
FR FRA EUR +33 France
GA GAB XAF +241 Gabon
GB GBR GBP +44 United Kingdom
GD GRD XCD +1 Grenada
GE GEO GEL +995 Georgia
GF GUF EUR +594 French Guiana
GG GGY GBP +44 Guernsey
GH GHA GHS +233 Ghana
GI GIB GIP +350 Gibraltar
GL GRL DKK +299 Greenland
GM GMB GMD +220 Gambia
GN GIN GNF +224 Guinea
GP GLP EUR +590 Guadeloupe
GQ GNQ XAF +240 Equatorial Guinea
GR GRC EUR +30 Greece
GS SGS GBP +500 South Georgia and the South Sandwich Islands
GT GTM GTQ +502 Guatemala
GU GUM USD +1 Guam
GW GNB XOF +245 Guinea-Bissau
GY GUY GYD +592 Guyana
HK HKG HKD +852 Hong Kong
HM HMD AUD +672 Heard Island and McDonald Islands
HN HND HNL +504 Honduras
HR HRV EUR +385 Croatia
HT HTI HTG +509 Haiti
HU HUN HUF +36 Hungary
ID IDN IDR +62 Indonesia
IE IRL EUR +353 Ireland
IL ISR ILS +972 Israel
IM IMN GBP +44 Isle of Man
IN IND INR +91 India
IO IOT USD +246 British Indian Ocean Territory
IQ IRQ IQD +964 Iraq
IR IRN IRR +98 Iran
IS ISL ISK +354 Iceland
IT ITA EUR +39 Italy
JE JEY GBP +44 Jersey
JM JAM JMD +1 Jamaica
JO JOR JOD +962 Jordan
JP JPN JPY +81 Japan
KE KEN KES +254 Kenya
KG KGZ KGS +996 Kyrgyzstan
KH KHM KHR +855 Cambodia
KI KIR AUD +686 Kiribati
KM COM KMF +269 Comoros
KN KNA XCD +1 Saint Kitts and Nevis
KP PRK KPW +850 North Korea
KR KOR KRW +82 South Korea
KW KWT KWD +965 Kuwait
KY CYM KYD +1 Cayman Islands
KZ KAZ KZT +7 Kazakhstan
LA LAO LAK +856 Laos
LB LBN LBP +961 Lebanon
LC LCA XCD +1 Saint Lucia
LI LIE CHF +423 Liechtenstein
LK LKA LKR +94 Sri Lanka
LR LBR LRD +231 Liberia
LS LSO LSL +266 Lesotho
LT LTU EUR +370 Lithuania
LU LUX EUR +352 Luxembourg
LV LVA EUR +371 Latvia
LY LBY LYD +218 Libya
MA MAR MAD +212 Morocco
MC MCO EUR +377 Monaco
MD MDA MDL +373 Moldova
ME MNE EUR +382 Montenegro
MF MAF EUR +590 Saint Martin
MG MDG MGA +261 Madagascar
MH MHL USD +692 Marshall Islands
MK MKD MKD +389 North Macedonia
ML MLI XOF +223 Mali
MM MMR MMK +95 Myanmar
MN MNG MNT +976 Mongolia
MO MAC MOP +853 Macao
MP MNP USD +1 Northern Mariana Islands
MQ MTQ EUR +596 Martinique
MR MRT MRU +222 Mauritania
MS MSR XCD +1 Montserrat
MT MLT EUR +356 Malta
MU MUS MUR +230 Mauritius
MV MDV MVR +960 Maldives
MW MWI MWK +265 Malawi
MX MEX MXN +52 Mexico
MY MYS MYR +60 Malaysia
MZ MOZ MZN +258 Mozambique
NA NAM NAD +264 Namibia
NC NCL XPF +687 New Caledonia
NE NER XOF +227 Niger
NF NFK AUD +672 Norfolk Island
NG NGA NGN +234 Nigeria
NI NIC NIO +505 Nicaragua
NL NLD EUR +31 Netherlands
NO NOR NOK +47 Norway
NP NPL NPR +977 Nepal
NR NRU AUD +674 Nauru
NU NIU NZD +683 Niue
NZ NZL NZD +64 New Zealand
OM OMN OMR +968 Oman
PA PAN PAB +507 Panama
PE PER PEN +51 Peru
PF PYF XPF +689 French Polynesia
PG PNG PGK +675 Papua New Guinea
PH PHL PHP +63 Philippines
PK PAK PKR +92 Pakistan
PL POL PLN +48 Poland
PM SPM EUR +508 Saint Pierre and Miquelon
PN PCN NZD +64 Pitcairn Islands
PR PRI USD +1 Puerto Rico
PS PSE ILS +970 Palestine
PT PRT EUR +351 Portugal
PW PLW USD +680 Palau
PY PRY PYG +595 Paraguay
QA QAT QAR +974 Qatar
RE REU EUR +262 Réunion
RO ROU RON +40 Romania
RS SRB RSD +381 Serbia
RU RUS RUB +7 Russia
RW RWA RWF +250 Rwanda
SA SAU SAR +966 Saudi Arabia
SB SLB SBD +677 Solomon Islands
SC SYC SCR +248 Seychelles
SD SDN SDG +249 Sudan
SE SWE SEK +46 Sweden
SG SGP SGD +65 Singapore
SH SHN SHP +290 Saint Helena, Ascension and Tristan da Cunha
SI SVN EUR +386 Slovenia
SJ SJM NOK +47 Svalbard and Jan Mayen
SK SVK EUR +421 Slovakia
SL SLE SLE +232 Sierra Leone
SM SMR EUR +378 San Marino
SN SEN XOF +221 Senegal
SO SOM SOS +252 Somalia
SR SUR SRD +597 Suriname
SS SSD SSP +211 South Sudan
ST STP STN +239 São Tomé and Príncipe
SV SLV USD +503 El Salvador
SX SXM XCG +1 Sint Maarten
SY SYR SYP +963 Syria
SZ SWZ SZL +268 Eswatini
TC TCA USD +1 Turks and Caicos Islands
TD TCD XAF +235 Chad
TF ATF EUR +262 French Southern Territories
TG TGO XOF +228 Togo
TH THA THB +66 Thailand
TJ TJK TJS +992 Tajikistan
TK TKL NZD +690 Tokelau
TL TLS USD +670 Timor-Leste
TM TKM TMT +993 Turkmenistan
TN TUN TND +216 Tunisia
TO TON TOP +676 Tonga
TR TUR TRY +90 Türkiye
TT TTO TTD +1 Trinidad and Tobago
TV TUV AUD +688 Tuvalu
TW TWN TWD +886 Taiwan
TZ TZA TZS +255 Tanzania
UA UKR UAH +380 Ukraine
UG UGA UGX +256 Uganda
UM UMI USD +1 United States Minor Outlying Islands
US USA USD +1 United States
UY URY UYU +598 Uruguay
UZ UZB UZS +998 Uzbekistan
VA VAT EUR +39 Vatican City
VC VCT XCD +1 Saint Vincent and the Grenadines
VE VEN VES +58 Venezuela
VG VGB USD +1 British Virgin Islands
VI VIR USD +1 U.S. Virgin Islands
VN VNM VND +84 Vietnam
VU VUT VUV +678 Vanuatu
WF WLF XPF +681 Wallis and Futuna
WS WSM WST +685 Samoa
YE YEM YER +967 Yemen
YT MYT EUR +262 Mayotte
ZA ZAF ZAR +27 South Africa
ZM ZMB ZMW +260 Zambia
ZW ZWE ZWG +263 Zimbabwe
`

/** Sorted by code. */
export const countries: ReadonlyArray<Country> = lines
  .trim()
  .split("\n")
  .map((line) => {
    const [code = "", code3 = "", currency = "", phone_prefix = "", ...name] = line.split(" ")
    return { code, code3, name: name.join(" "), currency_code: currency === "-" ? null : currency, phone_prefix }
  })

const codes: ReadonlySet<string> = new Set(countries.map(({ code }) => code))
export const isCountry = (code: string): boolean => codes.has(code)
